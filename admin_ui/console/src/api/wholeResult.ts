/** Results that were too large for one answer, read to their end (docs/results.md). */
import { Problem } from './problems.ts'

interface Partial {
  handle?: string
  left?: { path: string; next?: number }[]
  more_left?: number
}

/** What `read_result` answers. */
export interface ResultPart {
  text?: string
  items?: unknown[]
  next?: number
  left?: unknown[]
}

export type ReadPart = (handle: string, path: string, start: number) => Promise<ResultPart>

/** Nothing that a page shows has more. */
const MOST_PARTS = 50

/**
 * Put the rest of a result behind what was shown of it: of lists and texts.
 * @throws {Problem} the rest was not kept, or is neither.
 */
export async function completeResult(result: unknown, read: ReadPart): Promise<unknown> {
  const { partial, ...whole } = (result ?? {}) as Record<string, unknown> & { partial?: Partial }
  if (partial === undefined) return result
  const { handle, left = [], more_left: more = 0 } = partial
  if (!handle || more > 0) throw new Problem(413, { code: 'too_large' })
  let parts = 0
  for (const { path, next } of left) {
    for (let start = next; start !== undefined; parts += 1) {
      if (parts === MOST_PARTS) throw new Problem(413, { code: 'too_large' })
      const part = await read(handle, path, start)
      if (part.left?.length) throw new Problem(413, { code: 'too_large' })
      append(whole, readPath(path), part)
      start = part.next
    }
  }
  return whole
}

/** `days[2].entries` as its steps. */
function readPath(path: string): string[] {
  return path.replace(/^\$\.?/, '').split(/[.[\]]+/).filter(Boolean)
}

function append(whole: Record<string, unknown>, steps: string[], { text, items }: ResultPart): void {
  const last = steps.pop()
  let place: unknown = whole
  for (const step of steps) place = (place as Record<string, unknown> | undefined)?.[step]
  if (last === undefined || typeof place !== 'object' || place === null) throw new Problem(413, { code: 'too_large' })
  const holder = place as Record<string, unknown>
  const shown = holder[last]
  if (typeof text === 'string') holder[last] = (typeof shown === 'string' ? shown : '') + text
  else if (Array.isArray(items)) holder[last] = [...(Array.isArray(shown) ? shown : []), ...items]
  else throw new Problem(413, { code: 'too_large' })
}
