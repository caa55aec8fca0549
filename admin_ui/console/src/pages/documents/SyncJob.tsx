import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ProblemNotice } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { JobBadge } from '../jobs/JobBadge.tsx'
import { JobProgress } from '../jobs/JobProgress.tsx'
import { isUnfinished } from '../jobs/jobStates.ts'
import { jobQuery } from '../jobs/queries.ts'
import { useReason } from '../jobs/useReason.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import styles from './documents.module.css'
import { jobTextQuery } from './queries.ts'

/** The run of a source as it goes on, and why it has failed; its report is the source's. */
export function SyncJob({ id }: { id: string }) {
  const { sources } = useMessages().documents
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(jobQuery(id))
  const hasEnded = data !== undefined && !isUnfinished(data)
  useEffect(() => {
    if (hasEnded) void queries.invalidateQueries({ queryKey: ['documents'] })
  }, [hasEnded, queries])
  if (error && !data) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return null
  return (
    <section className={styles.job} aria-label={sources.run}>
      <p>
        <JobBadge job={data} />{' '}
        <Link to="/jobs" search={{ id }}>
          {sources.openJob}
        </Link>
      </p>
      <JobProgress job={data} />
      {hasEnded && <Failure job={data} />}
    </section>
  )
}

/** The tool's own words, which are English, or ours where it could not answer. */
function Failure({ job }: { job: SchemaJobView }) {
  const reason = useReason(job)
  const { data: text } = useQuery({ ...jobTextQuery(job.id), enabled: job.state === 'failed' && job.error === '' })
  if (!reason) return null
  if (text)
    return (
      <p lang="en" dir="auto">
        {text}
      </p>
    )
  return (
    <>
      <p>{reason.why}</p>
      {reason.next && <p>{reason.next}</p>}
    </>
  )
}
