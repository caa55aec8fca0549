import createClient from 'openapi-fetch'
import { rememberChange } from './ownChanges.ts'
import { Problem } from './problems.ts'
import type { paths, SchemaProblemDetails } from './schema.d.ts'
import { waitForSignIn } from './session.ts'
import type { Versioned } from './versions.ts'

/** The admin API. `await read(api.GET('/api/v1/users', { params: { query } }))` gives the answer's body or throws. */
export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin', fetch: sendRequest })

interface Answer<Body> {
  data?: Body
  error?: unknown
  response: Response
}

/**
 * Give the body of an answer.
 * @throws {Problem} the answer is an error, or there is none.
 */
export async function read<Body>(answer: Promise<Answer<Body>>): Promise<Body> {
  const { data, error, response } = await answer
  if (!response.ok) throw new Problem(response.status, isRecord(error) ? error : {})
  return data as Body
}

/**
 * Give the body of an answer with its version.
 * @throws {Problem} the answer is an error, or there is none.
 */
export async function readVersioned<Body extends object>(answer: Promise<Answer<Body>>): Promise<Versioned<Body>> {
  const { response } = await answer
  return { ...(await read(answer)), etag: response.headers.get('ETag') ?? '' }
}

async function sendRequest(request: Request): Promise<Response> {
  const response = await sendSignedIn(request)
  if (request.method !== 'GET') rememberChange(response.headers.get('X-Request-Id'))
  return response
}

/** Send a request; where it lacks a (recent) sign-in, ask the person for one and send it again. */
async function sendSignedIn(request: Request): Promise<Response> {
  const again = request.clone()
  const response = await fetchOrFail(request)
  const need = await readSignInNeed(response)
  if (need === null) return response
  try {
    await waitForSignIn(need)
  } catch {
    return response
  }
  return fetchOrFail(again)
}

async function fetchOrFail(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    if (request.signal.aborted) throw error
    throw new Problem(0, {})
  }
}

async function readSignInNeed(response: Response): Promise<'expired' | 'recent' | null> {
  if (response.status === 401) return 'expired'
  if (response.status !== 403) return null
  const body: unknown = await response.clone().json().catch(() => null)
  return isRecord(body) && body.code === 'recent_sign_in_required' ? 'recent' : null
}

function isRecord(value: unknown): value is Partial<SchemaProblemDetails> {
  return typeof value === 'object' && value !== null
}
