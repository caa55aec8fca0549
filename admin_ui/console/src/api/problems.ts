import type { Messages } from '../messages/index.tsx'
import type { SchemaConflictDetails, SchemaProblemDetails } from './schema.d.ts'

/** What a problem says in the language of the interface: above all, and at the fields of a form. */
export interface ProblemText {
  text: string
  fields: Readonly<Record<string, string>>
}

/** An answer of the API that is an error (RFC 9457), or that did not come at all (`unreachable`). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  /** English text of the API, for what has no text of ours. */
  readonly detail: string
  readonly requestId: string
  /** Texts by the field of the request's body or query. */
  readonly fields: Readonly<Record<string, string>>
  /** The object as it is now, where somebody else has changed it meanwhile (412). */
  readonly current: SchemaConflictDetails | null

  constructor(status: number, body: Partial<SchemaProblemDetails>) {
    super(body.detail ?? body.code ?? String(status))
    this.status = status
    this.code = body.code ?? (status === 0 ? 'unreachable' : 'unknown')
    this.detail = body.detail ?? ''
    this.requestId = body.request_id ?? ''
    this.fields = readFieldProblems(body)
    this.current = body.current ?? null
  }

  /** Its text, where its page has one for what this problem's code does not say. */
  describe(messages: Messages): ProblemText | null
  describe(): ProblemText | null {
    return null
  }
}

function readFieldProblems(body: Partial<SchemaProblemDetails>): Record<string, string> {
  const found: Record<string, string> = {}
  // An item of a list has no field of its own: `body.addresses.1` belongs to `addresses`.
  for (const { field, problem } of body.errors ?? []) found[field.replace(/^(body|query)\./, '').replace(/\.\d+$/, '')] ??= problem
  return found
}

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem(0, { code: 'crashed', detail: error instanceof Error ? error.message : '' })
}
