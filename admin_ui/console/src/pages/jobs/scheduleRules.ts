import type { SchemaScheduleView } from '../../api/schema.d.ts'

type Unit = 'day' | 'hour' | 'minute' | 'second'

const SECONDS = { day: 86_400, hour: 3600, minute: 60 } as const
const UNITS = Object.entries(SECONDS) as [Exclude<Unit, 'second'>, number][]

export const KINDS = ['cron', 'every', 'at'] as const
export type RuleKind = (typeof KINDS)[number]
export const INTERVAL_UNITS = ['minute', 'hour', 'day'] as const
export const OVERLAPS = ['skip', 'wait'] as const
export const NOTIFIES = ['never', 'failure', 'always'] as const

/** The times of a schedule as a form sends them; `at` is what a clock shows in the zone. */
export interface Rule {
  cron: string
  at: string
  every_seconds?: number | null
  time_zone?: string
}

/** An interval in the largest unit that it is a whole number of. */
export function splitInterval(seconds: number): { unit: Unit; count: number } {
  const found = UNITS.find(([, length]) => seconds % length === 0)
  return found ? { unit: found[0], count: seconds / found[1] } : { unit: 'second', count: seconds }
}

/** Of those that may run, one that runs once cannot be paused. */
export function isPausable({ state, at }: Pick<SchemaScheduleView, 'state' | 'at'>): boolean {
  return state === 'active' && at === null
}

export function findKind({ cron, every_seconds }: Pick<SchemaScheduleView, 'cron' | 'every_seconds'>): RuleKind {
  if (cron) return 'cron'
  return every_seconds === null ? 'at' : 'every'
}

/** Whether a text is a number of units; the server knows how long an interval may be. */
export function isInterval(text: string): boolean {
  return readCount(text) > 0
}

function readCount(text: string): number {
  return Number(text.normalize('NFKC').trim() || Number.NaN)
}

/** The times that the fields of a form hold. */
export function readRule(data: FormData, kind: RuleKind): Rule {
  const text = (name: string) => String(data.get(name) ?? '')
  const time_zone = text('time_zone') || 'UTC'
  if (kind === 'cron') return { cron: text('cron'), at: '', time_zone }
  if (kind === 'at') return { cron: '', at: text('at'), time_zone }
  const length = SECONDS[text('unit') as keyof typeof SECONDS] ?? 60
  return { cron: '', at: '', every_seconds: Math.round(readCount(text('count')) * length) }
}

/** Whether times are those that a schedule has, whose `at` is written as in a form. */
export function isSameRule(rule: Rule, before: Rule): boolean {
  if (rule.cron !== before.cron || rule.at !== before.at) return false
  if ((rule.every_seconds ?? null) !== (before.every_seconds ?? null)) return false
  return rule.time_zone === undefined || rule.time_zone === before.time_zone
}

/** Name and rules that the fields of a form hold. */
export function readScheduleData(data: FormData) {
  return {
    title: String(data.get('title') ?? '').trim(),
    overlap: data.get('overlap') as SchemaScheduleView['overlap'],
    notify: data.get('notify') as SchemaScheduleView['notify'],
  }
}

/** The arguments that a link brings; none where it is no object of JSON. */
export function readParams(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}
