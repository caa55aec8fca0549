import { useMe } from '../../api/queries.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import { useMessages } from '../../messages/index.tsx'
import { findReason } from './jobStates.ts'

/** Why a job has no result, in words, and what to do; null where it has one, or is under way. */
export function useReason(job: SchemaJobView): { why: string; next: string } | null {
  const { jobs } = useMessages()
  const me = useMe()
  const reason = findReason(job, job.user_id === me.id)
  return reason === null ? null : (jobs.reasons[reason] ?? { why: jobs.otherReason(reason), next: '' })
}
