import type { ActivityDay } from './queries.ts'

/** What cannot be added up: of several days it is their mean. */
export const MEANS: ReadonlySet<string> = new Set(['resting_heart_rate'])

/** The totals of several days together; what no day has is left out. */
export function addTotals(days: readonly Pick<ActivityDay, 'totals'>[]): Record<string, number> {
  const values = new Map<string, number[]>()
  for (const { totals } of days) {
    for (const [name, value] of Object.entries(totals)) {
      if (typeof value === 'number') values.set(name, [...(values.get(name) ?? []), value])
    }
  }
  return Object.fromEntries(
    [...values].map(([name, found]) => {
      const sum = found.reduce((before, value) => before + value, 0)
      return [name, MEANS.has(name) ? sum / found.length : sum]
    }),
  )
}
