import type { Messages } from '../../messages/index.tsx'
import type { ProblemText } from '../../api/problems.ts'
import { ToolProblem } from '../../api/toolProblems.ts'

const NOT_FOUND = 1001
const INVALID = 1002
const FAILED = 1003
const VIOLATED = 1004
const DENIED = 1005
/** Of a list, the place of the one that is meant: `related[2]`. */
const PLACE = /\[\d+\]$/
const OF_ADMINISTRATORS = 'only administrators'
const TOO_MANY = 'there may be at most'
/** What a person can correct where it stands. */
const FORM_FIELDS = new Set([
  'type',
  'to_type',
  'title',
  'description',
  'content',
  'status',
  'category',
  'start_date',
  'end_date',
  'version',
  'related',
  'tags',
  'name',
  'role',
])

/** An error of the items' document, told by its code and field in the language of the interface. */
export class ItemProblem extends ToolProblem {
  override describe({ items }: Messages): ProblemText | null {
    const text = describeError(items.errors, this.kind, this.details)
    const field = read(this.details.field).replace(PLACE, '')
    return text === null ? null : { text, fields: FORM_FIELDS.has(field) ? { [field]: text } : {} }
  }
}

function describeError(errors: Messages['items']['errors'], kind: number, details: Readonly<Record<string, unknown>>): string | null {
  switch (kind) {
    case NOT_FOUND:
      return errors.notFound(nameItem(details))
    case INVALID:
      return describeInvalid(errors, read(details.field).replace(PLACE, ''), read(details.constraint))
    case FAILED:
      return errors.failed(read(details.reference))
    case VIOLATED:
      return errors.violated[read(details.constraint)] ?? null
    case DENIED:
      return read(details.message).startsWith(OF_ADMINISTRATORS) ? errors.ofAdministrators : errors.denied(read(details.workspace))
    default:
      return null
  }
}

function describeInvalid(errors: Messages['items']['errors'], field: string, constraint: string): string {
  if (field === 'name' && constraint.startsWith(TOO_MANY)) return errors.tooManyWorkspaces
  return errors.invalid[field] ?? errors.invalidField(field)
}

/** The key as it was asked for: `task-7`. */
function nameItem({ type, requested_id: requested }: Readonly<Record<string, unknown>>): string {
  const id = String(requested ?? '')
  return id.includes('-') ? id : [type, id].filter(Boolean).join('-')
}

function read(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
