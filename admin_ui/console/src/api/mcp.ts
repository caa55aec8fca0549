import { forgetAccessToken, getAccessToken } from './accessToken.ts'
import { Problem } from './problems.ts'

/** One of the three tools that a model has, with its arguments. */
export interface ToolCall {
  name: 'call' | 'get_module_schema' | 'batch'
  arguments: Record<string, unknown>
  /** To run it as a job, which the answer names at once. */
  task?: Record<string, never>
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
  const { result, milliseconds } = await exchange(call, signal)
  return { isError: result.isError === true, text: readAnswerText(result), structured: result.structuredContent, milliseconds }
}

/**
 * Have a tool run as a job (decision 127), and give the job's id.
 * @throws {Problem} there is no token to be had, or it was not started.
 */
export async function startJob(args: ToolCall['arguments'], signal: AbortSignal): Promise<string> {
  const { result } = await exchange({ name: 'call', arguments: args, task: {} }, signal)
  if (!result.task) throw new Problem(422, { code: 'tool', detail: readAnswerText(result) })
  return result.task.taskId
}

function readAnswerText(result: Answer): string {
  return (result.content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
}

async function exchange(call: ToolCall, signal: AbortSignal): Promise<{ result: Answer; milliseconds: number }> {
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
  return { result: message.result, milliseconds }
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

interface Answer {
  isError?: boolean
  structuredContent?: unknown
  content?: { type: string; text?: string }[]
  /** Where it runs as a job. */
  task?: { taskId: string }
}

interface Message {
  id?: unknown
  error?: { message?: string }
  result?: Answer
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
