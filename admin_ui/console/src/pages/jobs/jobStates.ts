import type { SchemaJobView } from '../../api/schema.d.ts'

type Ended = Pick<SchemaJobView, 'state' | 'error' | 'attempt'>

/** As far as it matters for what can be done. */
export function isUnfinished({ state }: Pick<SchemaJobView, 'state'>): boolean {
  return state === 'queued' || state === 'running'
}

export function isCancellable(job: Pick<SchemaJobView, 'state' | 'is_cancel_requested'>): boolean {
  return isUnfinished(job) && !job.is_cancel_requested
}

/** Whether it has ended with a question, and goes on with the answer. */
export function isAsking({ state, error }: Pick<SchemaJobView, 'state' | 'error'>): boolean {
  return state === 'failed' && error === 'input_required'
}

export function isRetriable(job: Pick<SchemaJobView, 'state' | 'error'>): boolean {
  return (job.state === 'failed' || job.state === 'cancelled' || job.state === 'unknown') && !isAsking(job)
}

/** Whether another try may have the same effect a second time. */
export function mayTakeEffectTwice({ is_repeatable, attempt }: Pick<SchemaJobView, 'is_repeatable' | 'attempt'>): boolean {
  return !is_repeatable && attempt > 0
}

/** Why a job has no result, as a key of the texts; null where it has one, or is under way. */
export function findReason({ state, error, attempt }: Ended, isOwn: boolean): string | null {
  if (state === 'cancelled') return attempt === 0 ? 'cancelledBefore' : 'cancelled'
  if (state === 'unknown') return error || 'outcome_unknown'
  if (state === 'failed') return error || (isOwn ? 'refused' : 'refusedOfOther')
  return null
}

/** How much of a job is done, from 0 to 1; null where it does not say. */
export function computeShare({ progress, total }: Pick<SchemaJobView, 'progress' | 'total'>): number | null {
  if (progress === null || total === null || !(total > 0)) return null
  return Math.min(1, Math.max(0, progress / total))
}
