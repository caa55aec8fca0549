import type { DayScale } from './days.ts'
import type { Span } from './lanes.ts'
import type { ActivityDay, ActivityEntry } from './queries.ts'

/** An entry with its time, as a picture and a table show it. */
export interface ShownEntry extends Span {
  entry: ActivityEntry
  isAllDay: boolean
  isRunning: boolean
}

const DAY_ALONE = /^\d{4}-\d{2}-\d{2}$/

/** The entries of a day by time, those of whole days first. What has no end ends now, or with the day. */
export function readEntries({ entries }: ActivityDay, scale: DayScale, now: number): ShownEntry[] {
  return entries
    .flatMap((entry) => {
      const isAllDay = DAY_ALONE.test(entry.start)
      const start = isAllDay ? scale.start : Date.parse(entry.start)
      const isRunning = !isAllDay && !entry.end
      const end = isAllDay ? scale.end : entry.end ? Date.parse(entry.end) : Math.max(start, Math.min(now, scale.end))
      return Number.isNaN(start) || Number.isNaN(end) ? [] : [{ entry, start, end, isAllDay, isRunning }]
    })
    .sort((left, right) => Number(right.isAllDay) - Number(left.isAllDay) || left.start - right.start || left.end - right.end)
}

/** Whole minutes of an entry. */
export function countMinutes({ start, end }: Span): number {
  return Math.round((end - start) / 60_000)
}
