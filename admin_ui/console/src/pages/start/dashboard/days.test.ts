import { expect, test } from 'vitest'
import { formatDate, setTimeZone } from '../../../messages/format.ts'
import { findMidday, isBesideMidnight, roundOffset } from './days.ts'

const HOUR_MS = 3_600_000

test.each([
  ['Asia/Tokyo', 9, 9, false],
  ['Asia/Kolkata', 5.5, 6, true],
  ['Asia/Kathmandu', 5.75, 6, true],
  ['America/St_Johns', -3.5, -3, true],
  ['Pacific/Chatham', 13.75, 14, true],
  ['UTC', 0, 0, false],
])('days in %s', (timeZone, hours, whole, isBeside) => {
  expect(roundOffset(hours * HOUR_MS)).toBe(whole)
  expect(isBesideMidnight(hours * HOUR_MS)).toBe(isBeside)
  // The day of 20 November, which begins some minutes beside midnight, is called by its own date.
  const start = new Date(Date.UTC(2026, 10, 20) - whole * HOUR_MS).toISOString()
  setTimeZone(timeZone)
  expect(formatDate('en', findMidday(start))).toMatch(/\b20\b/)
})
