import { expect, test } from 'vitest'
import { buildScale } from './days.ts'
import { countMinutes, readEntries } from './entries.ts'
import type { ActivityEntry } from './queries.ts'

const SCALE = buildScale('2026-11-28', 'Asia/Tokyo')
const NOW = Date.parse('2026-11-28T12:00:00+09:00')
const read = (...entries: ActivityEntry[]) =>
  readEntries({ date: '2026-11-28', time_zone: 'Asia/Tokyo', sources: [], entries, totals: {} }, SCALE, NOW)

test('entries are by time, those of whole days first; what runs ends now', () => {
  const found = read(
    { source: 'toggl', start: '2026-11-28T11:00:00+09:00', title: 'runs' },
    { source: 'toggl', start: '2026-11-28T00:30:00Z', end: '2026-11-28T01:15:30Z', title: 'was' },
    { source: 'google_calendar', start: '2026-11-28', end: '2026-11-29', title: 'day' },
  )
  expect(found.map(({ entry, isAllDay, isRunning }) => [entry.title, isAllDay, isRunning])).toEqual([
    ['day', true, false],
    ['was', false, false],
    ['runs', false, true],
  ])
  expect(found.map(countMinutes)).toEqual([1440, 46, 60])
})

test('one that began after this moment has no length, and one of no time is left out', () => {
  const found = read({ source: 'toggl', start: '2026-11-28T13:00:00+09:00' }, { source: 'toggl', start: 'soon' })
  expect(found.map(countMinutes)).toEqual([0])
})
