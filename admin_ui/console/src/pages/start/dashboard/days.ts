const HOUR_MS = 3_600_000

/** Hours by which days begin before UTC's: figures are counted by the hour, so the nearest ones to an offset in milliseconds. */
export function roundOffset(offset: number): number {
  return Math.min(14, Math.max(-12, Math.round(offset / HOUR_MS)))
}

/** Whether days begin at another minute than at midnight. */
export function isBesideMidnight(offset: number): boolean {
  return roundOffset(offset) * HOUR_MS !== offset
}

/** A time of the day that begins then, some minutes before or after midnight: it has the day's date. */
export function findMidday(start: string): Date {
  return new Date(Date.parse(start) + 12 * HOUR_MS)
}
