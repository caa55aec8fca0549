import { expect, test } from 'vitest'
import { buildColumns, findNextSpot } from './columns.ts'
import { buildScale } from './days.ts'
import type { ActivityDay } from './queries.ts'

const ZONE = 'Asia/Tokyo'
const makeDay = (date: string, ...entries: [source: string, start: string, end: string][]): ActivityDay => ({
  date,
  entries: entries.map(([source, start, end]) => ({
    source,
    start: `${date}T${start}:00+09:00`,
    end: `${date}T${end}:00+09:00`,
    title: '',
    all_day: start === end,
  })),
  totals: {},
})
const build = (...days: ActivityDay[]) => {
  const sources = ['toggl', 'google_calendar', 'google_health'].map((source) => ({ source, connected: source !== 'google_health' }))
  return buildColumns({ days, sources }, days.map(({ date }) => buildScale(date, ZONE)))
}

test('a day has a column for each source that is connected, also where it has nothing', () => {
  const day = makeDay('2026-11-28', ['toggl', '09:00', '10:00'])
  expect(build(day).map(({ source, cells }) => [source, cells.length])).toEqual([
    ['toggl', 1],
    ['google_calendar', 0],
  ])
  const slept = makeDay('2026-11-28', ['google_health', '01:00', '07:00'])
  expect(build(slept).map(({ source }) => source)).toContain('google_health')
})

test('arrow keys go by time, and over days without entries', () => {
  const columns = build(
    makeDay('2026-11-23', ['toggl', '12:00', '12:00'], ['toggl', '09:00', '10:00'], ['google_calendar', '15:00', '16:00']),
    makeDay('2026-11-24'),
    makeDay('2026-11-25', ['toggl', '08:00', '09:00'], ['toggl', '14:00', '17:00']),
  )
  expect(columns.map(({ key, cells }) => [key, cells.map(({ placement }) => placement !== null)])).toEqual([
    ['2026-11-23', [false, true, true]],
    ['2026-11-24', []],
    ['2026-11-25', [true, true]],
  ])
  const go = (column: number, cell: number, key: string) => findNextSpot(columns, { column, cell }, key)
  expect(go(0, 0, 'ArrowDown')).toEqual({ column: 0, cell: 1 })
  expect(go(0, 2, 'ArrowDown')).toBeNull()
  expect(go(0, 2, 'ArrowRight')).toEqual({ column: 2, cell: 1 })
  expect(go(2, 0, 'ArrowLeft')).toEqual({ column: 0, cell: 1 })
  expect(go(2, 0, 'ArrowRight')).toBeNull()
  expect(go(0, 2, 'Home')).toEqual({ column: 0, cell: 0 })
  expect(go(0, 0, 'End')).toEqual({ column: 0, cell: 2 })
  expect(go(1, 0, 'ArrowRight')).toBeNull()
  expect(go(0, 0, 'x')).toBeNull()
})
