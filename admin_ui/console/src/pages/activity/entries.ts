import type { DayScale } from './days.ts'
import type { Span } from './lanes.ts'
import type { ActivityDay, ActivityEntry } from './queries.ts'

/** An entry with its time, as a picture and a table show it. */
export interface ShownEntry extends Span {
  entry: ActivityEntry
  isAllDay: boolean
  isRunning: boolean
}

/** The entries of a day by time, those of whole days first. */
export function readEntries({ entries }: Pick<ActivityDay, 'entries'>, scale: DayScale): ShownEntry[] {
  return entries
    .flatMap((entry) => {
      const [isAllDay, isRunning] = [entry.all_day === true, entry.running === true]
      const [start, end] = isAllDay ? [scale.start, scale.end] : [Date.parse(entry.start), Date.parse(entry.end)]
      return Number.isNaN(start) || Number.isNaN(end) ? [] : [{ entry, start, end, isAllDay, isRunning }]
    })
    .sort((left, right) => Number(right.isAllDay) - Number(left.isAllDay) || left.start - right.start || left.end - right.end)
}

/** Whole minutes of an entry. */
export function countMinutes({ start, end }: Span): number {
  return Math.round((end - start) / 60_000)
}
