import type { SchemaScheduleView } from '../../api/schema.d.ts'

type Unit = 'day' | 'hour' | 'minute' | 'second'

const UNITS: readonly (readonly [Unit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** An interval in the largest unit that it is a whole number of. */
export function splitInterval(seconds: number): { unit: Unit; count: number } {
  const found = UNITS.find(([, length]) => seconds % length === 0)
  return found ? { unit: found[0], count: seconds / found[1] } : { unit: 'second', count: seconds }
}

/** Of those that may run, one that runs once cannot be paused. */
export function isPausable({ state, at }: Pick<SchemaScheduleView, 'state' | 'at'>): boolean {
  return state === 'active' && at === null
}
