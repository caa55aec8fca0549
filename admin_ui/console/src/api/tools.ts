import { callTool } from './mcp.ts'
import { Problem } from './problems.ts'
import { readError, ToolProblem } from './toolProblems.ts'
import { completeResult, type ResultPart } from './wholeResult.ts'

/** The most that one answer of /mcp may hold. */
const MAX_TOKENS = 50_000

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
