/** Where the entries of a day stand: by time from above, and side by side where they overlap. */

export interface Span {
  /** Milliseconds. */
  start: number
  end: number
}

export interface Placement {
  /** Which one of the entries. */
  index: number
  /** Upper and lower end in the day, 0 to 1. */
  from: number
  to: number
  /** Which one from the left, of how many. */
  column: number
  columns: number
}

/**
 * Place entries in a day; what is outside of it is left out, and what goes beyond it is cut. Each is at least `least`
 * milliseconds high, and none covers another.
 */
export function placeEntries(entries: readonly Span[], day: Span, least: number): Placement[] {
  const height = Math.max(1, day.end - day.start)
  const shown = entries
    .map(({ start, end }, index) => ({ index, start, end: Math.max(end, start) }))
    .filter(({ start, end }) => start < day.end && (start >= day.start || end > day.start))
    .map(({ index, start, end }) => ({ index, start: Math.max(start, day.start), end: Math.min(end, day.end) }))
    .map((one) => stretch(one, day, least))
    .sort((left, right) => left.start - right.start || right.end - left.end || left.index - right.index)
  const groups: (typeof shown)[] = []
  let reached = -Infinity
  for (const one of shown) {
    if (one.start >= reached) groups.push([])
    groups.at(-1)!.push(one)
    reached = Math.max(reached, one.end)
  }
  return groups.flatMap((group) => {
    const ends: number[] = []
    const placed = group.map((one) => {
      const free = ends.findIndex((end) => end <= one.start)
      const column = free < 0 ? ends.length : free
      ends[column] = one.end
      return { one, column }
    })
    return placed.map(({ one, column }) => ({
      index: one.index,
      from: (one.start - day.start) / height,
      to: (one.end - day.start) / height,
      column,
      columns: ends.length,
    }))
  })
}

/** Make an entry high enough to be read and pressed; at the end of the day it goes up. */
function stretch<One extends Span>(one: One, day: Span, least: number): One {
  if (one.end - one.start >= least) return one
  const end = Math.min(day.end, one.start + least)
  return { ...one, start: Math.max(day.start, Math.min(one.start, end - least)), end }
}
