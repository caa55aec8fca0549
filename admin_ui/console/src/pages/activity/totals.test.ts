import { expect, test } from 'vitest'
import type { ActivityDay } from './queries.ts'
import { addTotals } from './totals.ts'

test('totals of days are added up, those of a rate are a mean, and what is missing is no zero', () => {
  const days: Pick<ActivityDay, 'totals'>[] = [
    { totals: { steps: 4_000, resting_heart_rate: 60, sleep_minutes: null } },
    { totals: { steps: 6_000, resting_heart_rate: 64 } },
    { totals: {} },
  ]
  expect(addTotals(days)).toEqual({ steps: 10_000, resting_heart_rate: 62 })
  expect(addTotals([])).toEqual({})
})
