import { expect, test } from 'vitest'
import { buildScale } from './days.ts'
import { countMinutes, readEntries } from './entries.ts'
import type { ActivityEntry } from './queries.ts'

const SCALE = buildScale('2026-11-28', 'Asia/Tokyo')
const read = (...entries: ActivityEntry[]) => readEntries({ entries }, SCALE)

test('entries are by time, those of whole days first', () => {
  const found = read(
    { source: 'toggl', start: '2026-11-28T11:00:00+09:00', end: '2026-11-28T12:00:00+09:00', title: 'runs', running: true },
    { source: 'toggl', start: '2026-11-28T00:30:00Z', end: '2026-11-28T01:15:30Z', title: 'was' },
    { source: 'google_calendar', start: '2026-11-28', end: '2026-11-29', title: 'day', all_day: true },
  )
  expect(found.map(({ entry, isAllDay, isRunning }) => [entry.title, isAllDay, isRunning])).toEqual([
    ['day', true, false],
    ['was', false, false],
    ['runs', false, true],
  ])
  expect(found.map(countMinutes)).toEqual([1440, 46, 60])
})

test('one of no time is left out', () => {
  expect(read({ source: 'toggl', start: 'soon', end: 'later', title: '' })).toEqual([])
})
