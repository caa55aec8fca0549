import { Problem } from './problems.ts'

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

/** The object of an error: at the top, or under `error`. */
export function readError(structured: unknown): ToolError {
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
