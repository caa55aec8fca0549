import { describe, expect, test } from 'vitest'
import { formatClock, formatZone } from '../../messages/format.ts'
import { addDays, buildScale, countHours, findMonday, findStart, isChangeDay, isDay } from './days.ts'

const write = (time: number) => new Date(time).toISOString().slice(0, 16)

describe('a day begins', () => {
  test.each([
    ['2026-11-28', 'UTC', '2026-11-28T00:00'],
    ['2026-11-28', 'Asia/Tokyo', '2026-11-27T15:00'],
    ['2026-11-28', 'Pacific/Kiritimati', '2026-11-27T10:00'],
    ['2026-11-28', 'Pacific/Pago_Pago', '2026-11-28T11:00'],
    ['2026-11-28', 'Asia/Kathmandu', '2026-11-27T18:15'],
    // The clock goes from midnight to one o'clock.
    ['2024-09-08', 'America/Santiago', '2024-09-08T04:00'],
    // The 30th was left out: the next day begins where it would have.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T10:00'],
    ['2011-12-31', 'Pacific/Apia', '2011-12-30T10:00'],
  ])('%s in %s at %s', (day, zone, start) => {
    expect(write(findStart(day, zone))).toBe(start)
  })
})

describe('a day has', () => {
  test.each([
    ['2026-11-28', 'Asia/Tokyo', 24, 24],
    ['2026-03-29', 'Europe/Berlin', 23, 23],
    ['2026-10-25', 'Europe/Berlin', 25, 25],
    ['2026-03-08', 'America/New_York', 23, 23],
    ['2026-11-01', 'America/New_York', 25, 25],
    ['2026-04-05', 'Australia/Lord_Howe', 24.5, 24],
    ['2026-11-28', 'Asia/Kathmandu', 24, 24],
    ['2011-12-30', 'Pacific/Apia', 0, 0],
  ])('%s in %s %d hours', (day, zone, hours, marks) => {
    const scale = buildScale(day, zone)
    expect([countHours(scale), scale.hours.length]).toEqual([hours, marks])
    expect(isChangeDay(scale)).toBe(hours !== 24)
    for (const { at } of scale.hours) expect(formatClock('en', at, zone)).toMatch(/:00$/)
  })

  test('an hour twice where the clock goes back, told apart by the offset', () => {
    const { hours } = buildScale('2026-10-25', 'Europe/Berlin')
    const clock = hours.slice(1, 5).map(({ at }) => formatClock('en', at, 'Europe/Berlin', true))
    expect(clock).toEqual(['01:00 GMT+2', '02:00 GMT+2', '02:00 GMT+1', '03:00 GMT+1'])
    expect(hours[3]!.share).toBeCloseTo(3 / 25)
  })

  test('no hour that the clock leaves out', () => {
    const { hours } = buildScale('2026-03-29', 'Europe/Berlin')
    expect(hours.slice(1, 4).map(({ at }) => formatClock('en', at, 'Europe/Berlin'))).toEqual(['01:00', '03:00', '04:00'])
  })
})

test('days are counted by the calendar', () => {
  expect(addDays('2026-02-28', 1)).toBe('2026-03-01')
  expect(addDays('2026-01-01', -1)).toBe('2025-12-31')
  expect(['2026-11-23', '2026-11-28', '2026-11-29', '2026-11-30'].map(findMonday)).toEqual([
    '2026-11-23',
    '2026-11-23',
    '2026-11-23',
    '2026-11-30',
  ])
  expect(['2026-11-28', '2026-02-30', '2026-1-1', 'today', ''].map(isDay)).toEqual([true, false, false, false, false])
})

test('a zone is told with its offset of that day', () => {
  expect(formatZone('en', 'Europe/Berlin', Date.parse('2026-07-01'))).toBe('Europe/Berlin (GMT+2)')
  expect(formatZone('en', 'Europe/Berlin', Date.parse('2026-12-01'))).toBe('Europe/Berlin (GMT+1)')
  expect(formatZone('en', 'UTC', 0)).toBe('UTC')
})
