/** Days of the calendar, `2026-11-23`, and when they are in a time zone: 24 hours, but where clocks change 23 or 25. */
import { findDay, readOffset } from '../../messages/format.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** No zone is further from UTC. */
const FURTHEST_MS = 15 * HOUR_MS
const MINUTE_MS = 60_000
/** No clock is changed by less, nor between. */
const QUARTER_MS = 15 * MINUTE_MS
export const DAYS_OF_WEEK = 7

export interface Hour {
  /** Where in the day, 0 to 1. */
  share: number
  at: number
}

export interface DayScale {
  day: string
  timeZone: string
  /** Milliseconds; the end is the beginning of the next day. */
  start: number
  end: number
  /** The full hours of the clock; the one that comes twice is there twice. */
  hours: readonly Hour[]
}

/** A day `count` days after another. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10)
}

/** The Monday of a day's week. */
export function findMonday(day: string): string {
  return addDays(day, -((new Date(day).getUTCDay() + 6) % DAYS_OF_WEEK))
}

export function isDay(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text
}

/** When a day begins in a time zone: the first minute of which the clock shows this day, or a later one. */
export function findStart(day: string, timeZone: string): number {
  let [before, from] = [Date.parse(day) - FURTHEST_MS, Date.parse(day) + FURTHEST_MS]
  while (from - before > MINUTE_MS) {
    const middle = before + Math.floor((from - before) / 2 / MINUTE_MS) * MINUTE_MS
    if (findDay(middle, timeZone) < day) before = middle
    else from = middle
  }
  return from
}

/** A day in a time zone; of no length where the calendar of a country has left it out. */
export function buildScale(day: string, timeZone: string): DayScale {
  const start = findStart(day, timeZone)
  const end = findStart(addDays(day, 1), timeZone)
  return { day, timeZone, start, end, hours: [...listHours(start, end, timeZone)] }
}

/** Length of a day in hours. */
export function countHours({ start, end }: DayScale): number {
  return (end - start) / HOUR_MS
}

/** Whether the clock is changed on the day, so that its times alone do not tell when something was. */
export function isChangeDay(scale: DayScale): boolean {
  return countHours(scale) !== 24
}

/** Also right where a zone is a half or a quarter of an hour apart from UTC's full hours. */
function* listHours(start: number, end: number, timeZone: string): Generator<Hour> {
  for (let at = start; at < end; at += QUARTER_MS) {
    if ((at + readOffset(at, timeZone)) % HOUR_MS === 0) yield { at, share: (at - start) / (end - start) }
  }
}
