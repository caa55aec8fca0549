import { forgetAccessToken, getAccessToken } from './accessToken.ts'
import { Problem } from './problems.ts'

export const UPLOAD_PATH = '/rag/documents'
/** As the gateway has it (gateway/uploads/upload_route.py). */
export const MAX_FILE_BYTES = 20 * 1024 * 1024
export const FILE_ENDINGS = '.md,.markdown,.txt,.html,.htm,.pdf,.docx'

export interface UploadedDocument {
  file_path: string
  collection: string
  version: number
  chunks: number
}

interface UploadError {
  error?: string
  code?: string
}

/**
 * Send a file with its fields to the gateway, with a token of this session. `onProgress` hears which share was sent.
 * @throws {Problem} it was not stored.
 */
export async function uploadDocument(
  form: FormData,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<UploadedDocument> {
  let [status, body] = await send(form, onProgress, signal)
  if (status === 401) {
    forgetAccessToken()
    ;[status, body] = await send(form, onProgress, signal)
  }
  const answer = parse(body)
  if (status === 200) return answer as UploadedDocument
  const { error = '', code = '' } = answer as UploadError
  throw new Problem(status, { ...(code && { code: status === 409 ? 'document_exists' : code }), detail: error })
}

/** `fetch` does not say how much of a body was sent. */
async function send(form: FormData, onProgress: (share: number) => void, signal: AbortSignal): Promise<[number, string]> {
  const bearer = await getAccessToken()
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', UPLOAD_PATH)
    request.setRequestHeader('Authorization', `Bearer ${bearer}`)
    request.upload.onprogress = (event) => onProgress(event.lengthComputable ? event.loaded / event.total : 0)
    request.onload = () => resolve([request.status, request.responseText])
    request.onerror = request.onabort = () => reject(new Problem(0, {}))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(form)
  })
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return {}
  }
}
