import { callTool } from './mcp.ts'
import { Problem } from './problems.ts'
import { completeResult, type ResultPart } from './wholeResult.ts'

/** The most that one answer of /mcp may hold. */
const MAX_TOKENS = 50_000
const NO_TOOL = 'no such module or tool'

/** A tool's own error, with what it says besides its text: such as the field, or the revision that there is. */
export class ToolProblem extends Problem {
  /** Code of the module's document, 0 without one. */
  readonly kind: number
  readonly details: Readonly<Record<string, unknown>>
  readonly line: string
  readonly error: ToolError

  constructor(line: string, error: ToolError) {
    const { field, reason, details } = readDetails(error)
    super(422, {
      code: line.startsWith(NO_TOOL) ? 'no_tool' : 'tool',
      detail: [error.message || line, [field, reason].filter(Boolean).join(' ')].filter(Boolean).join(': '),
      errors: field ? [{ field, problem: reason || error.message || line }] : [],
    })
    this.line = line
    this.error = error
    this.kind = typeof error.code === 'number' ? error.code : 0
    this.details = details
  }
}

/** The object of an error as a tool gives it. */
export interface ToolError {
  code?: unknown
  message?: string
  data?: unknown
}

/** The person may not use the tools that a page is made of. */
export const isWithoutTools = (error: unknown) => error instanceof Problem && error.code === 'no_tool'

/**
 * Call a tool as the person.
 * @returns its whole result, also where that is too large for one answer.
 * @throws {Problem} there is no answer; {@link ToolProblem} where it is an error of the tool.
 */
export async function askTool<Result>(
  module: string,
  tool: string,
  params: Record<string, unknown>,
  signal: AbortSignal = new AbortController().signal,
): Promise<Result> {
  const result = await callOnce(module, tool, params, signal)
  return (await completeResult(
    result,
    async (handle, path, start) => (await callOnce('results', 'read_result', { handle, path, start }, signal)) as ResultPart,
  )) as Result
}

async function callOnce(module: string, tool: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
  const call = { module, tool_name: tool, params, max_tokens: MAX_TOKENS }
  const answer = await callTool({ name: 'call', arguments: call }, signal)
  if (answer.isError) throw new ToolProblem(answer.text.split('\n')[0] ?? '', readError(answer.structured))
  return answer.structured
}

/** The object of an error: at the top, or under `error`. */
function readError(structured: unknown): ToolError {
  if (!isObject(structured)) return {}
  return isObject(structured.error) ? structured.error : structured
}

function readDetails(error: ToolError): { field: string; reason: string; details: Record<string, unknown> } {
  const data = isObject(error.data) ? error.data : {}
  const details = isObject(data.details) ? data.details : data
  return { field: readLine(details.field), reason: readLine(details.message) || readLine(details.constraint), details }
}

function readLine(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
