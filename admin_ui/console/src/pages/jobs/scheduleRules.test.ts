import { expect, test } from 'vitest'
import { findKind, isInterval, isPausable, isSameRule, readParams, readRule, splitInterval } from './scheduleRules.ts'

test.each([
  [60, 'minute', 1],
  [5400, 'minute', 90],
  [7200, 'hour', 2],
  [604_800, 'day', 7],
  [61, 'second', 61],
] as const)('%s seconds are whole %ss', (seconds, unit, count) => {
  expect(splitInterval(seconds)).toEqual({ unit, count })
})

test('what runs once, or no more, cannot be paused', () => {
  expect(isPausable({ state: 'active', at: null })).toBe(true)
  expect(isPausable({ state: 'active', at: '2027-01-01T00:00:00Z' })).toBe(false)
  expect(isPausable({ state: 'ended', at: null })).toBe(false)
})

function fill(fields: Record<string, string>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  return data
}

test('the times of a form are one of three', () => {
  const zone = { time_zone: 'Asia/Tokyo' }
  expect(readRule(fill({ cron: '0 8 * * *', ...zone }), 'cron')).toEqual({ cron: '0 8 * * *', at: '', ...zone })
  expect(readRule(fill({ at: '2026-12-31T09:00', ...zone }), 'at')).toEqual({ cron: '', at: '2026-12-31T09:00', ...zone })
  expect(readRule(fill({ count: '１.5', unit: 'hour' }), 'every')).toEqual({ cron: '', at: '', every_seconds: 5400 })
})

test('times that stay are known', () => {
  const before = { cron: '0 8 * * *', at: '', every_seconds: null, time_zone: 'UTC' }
  expect(isSameRule(readRule(fill({ cron: '0 8 * * *', time_zone: 'UTC' }), 'cron'), before)).toBe(true)
  expect(isSameRule(readRule(fill({ cron: '0 8 * * *', time_zone: 'Asia/Tokyo' }), 'cron'), before)).toBe(false)
  expect(isSameRule(readRule(fill({ count: '1', unit: 'day' }), 'every'), before)).toBe(false)
  expect(isSameRule(readRule(fill({ count: '1', unit: 'day' }), 'every'), { cron: '', at: '', every_seconds: 86_400, time_zone: 'UTC' })).toBe(true)
})

test.each([
  ['', false],
  ['0', false],
  ['x', false],
  ['1.5', true],
  ['３', true],
])('%s is an interval: %s', (text, is) => {
  expect(isInterval(text)).toBe(is)
})

test('a schedule without cron and interval runs once', () => {
  expect(findKind({ cron: '', every_seconds: null })).toBe('at')
  expect(findKind({ cron: '', every_seconds: 60 })).toBe('every')
})

test.each([
  ['{"source_id":"a"}', { source_id: 'a' }],
  ['', {}],
  ['{', {}],
  ['[1]', {}],
  ['null', {}],
  ['"text"', {}],
])('a link with %s begins with these arguments', (text, params) => {
  expect(readParams(text)).toEqual(params)
})
