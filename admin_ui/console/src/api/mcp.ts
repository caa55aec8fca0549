import { forgetAccessToken, getAccessToken } from './accessToken.ts'
import { Problem } from './problems.ts'

/** One of the three tools that a model has, with its arguments. */
export interface ToolCall {
  name: 'call' | 'get_module_schema' | 'batch'
  arguments: Record<string, unknown>
}

export interface ToolAnswer {
  isError: boolean
  /** The text that a client shows its model. */
  text: string
  structured: unknown
  milliseconds: number
}

export const PROTOCOL_VERSION = '2025-11-25'

/**
 * Call a tool at /mcp as a client does, with a token of this session.
 * @throws {Problem} there is no token to be had, or /mcp answers no result.
 */
export async function callTool(call: ToolCall, signal: AbortSignal): Promise<ToolAnswer> {
  let response = await send(call, signal)
  let began = performance.now()
  if (response.status === 401) {
    forgetAccessToken()
    began = performance.now()
    response = await send(call, signal)
  }
  const body = await response.text()
  const milliseconds = Math.round(performance.now() - began)
  const message = readMessage(body, response.headers.get('content-type') ?? '')
  if (!response.ok || !message?.result) {
    const detail = message?.error?.message ?? ''
    throw new Problem(response.status, { code: 'mcp', detail, request_id: response.headers.get('x-request-id') ?? '' })
  }
  const { result } = message
  const text = (result.content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
  return { isError: result.isError === true, text, structured: result.structuredContent, milliseconds }
}

async function send(call: ToolCall, signal: AbortSignal): Promise<Response> {
  const bearer = await getAccessToken()
  try {
    return await fetch('/mcp', {
      method: 'POST',
      credentials: 'omit',
      signal,
      headers: {
        Authorization: `Bearer ${bearer}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': PROTOCOL_VERSION,
      },
      body: JSON.stringify(toMessage(call)),
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Problem(0, {})
  }
}

/** The JSON-RPC request of a call. */
export function toMessage(call: ToolCall) {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
}

interface Message {
  id?: unknown
  error?: { message?: string }
  result?: {
    isError?: boolean
    structuredContent?: unknown
    content?: { type: string; text?: string }[]
  }
}

/** The answer to our request: the body itself, or among the events of a stream. */
export function readMessage(body: string, type: string): Message | null {
  const texts = type.startsWith('text/event-stream')
    ? body.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
    : [body]
  for (const text of texts) {
    const message = parse(text)
    if (message && (message.id === 1 || message.error)) return message
  }
  return null
}

function parse(text: string): Message | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}
