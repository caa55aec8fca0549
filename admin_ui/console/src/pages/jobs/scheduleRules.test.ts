import { expect, test } from 'vitest'
import { isPausable, splitInterval } from './scheduleRules.ts'

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
