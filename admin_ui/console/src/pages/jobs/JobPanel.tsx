import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { hasRight, useMe } from '../../api/queries.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Facts, Section } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { AskedBy } from './AskedBy.tsx'
import { JobActions } from './JobActions.tsx'
import { JobBadge } from './JobBadge.tsx'
import { JobProgress } from './JobProgress.tsx'
import styles from './jobs.module.css'
import { isAsking, isUnfinished } from './jobStates.ts'
import { NotifyField } from './NotifyField.tsx'
import { jobQuery } from './queries.ts'
import { useReason } from './useReason.ts'
import { useToolName } from './useToolName.ts'

const PANEL = ['id', 'dialog'] as const

/** A job: how it stands, why it has failed, and what can be done about it. Its arguments and its result are in no page. */
export function JobPanel({ id }: { id: string }) {
  const { jobs } = useMessages()
  const { close } = useOverlay(PANEL)
  const nameTool = useToolName()
  const { data, error, refetch } = useQuery(jobQuery(id))
  return (
    <DetailPanel title={data ? nameTool(data) : jobs.job} {...(data && { subtitle: data.user_email })} onClose={close} padded>
      {data ? (
        <JobDetail job={data} />
      ) : error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </DetailPanel>
  )
}

function JobDetail({ job }: { job: SchemaJobView }) {
  const { jobs } = useMessages()
  const me = useMe()
  const isOwn = job.user_id === me.id
  return (
    <div className={styles.panel}>
      <JobProgress job={job} />
      <Reason job={job} />
      <Facts facts={useFacts(job, isOwn && isUnfinished(job))} />
      {job.state === 'succeeded' && (
        <Section title={jobs.result}>
          <p>{isOwn ? jobs.resultOfOwn : jobs.resultOfOther}</p>
        </Section>
      )}
      {isOwn && isUnfinished(job) && <NotifyField job={job} />}
      <CopyField label={jobs.id} value={job.id} />
      {job.schedule_id && (
        <p>
          <Link to="/jobs" search={{ view: 'schedules', id: job.schedule_id, ...(!isOwn && { of: 'all' }) }}>
            {jobs.openSchedule}
          </Link>
        </p>
      )}
      {job.module && hasRight(me, 'administer') && (
        <p>
          <Link to="/logs" search={{ user: job.user_id, tool: `${job.module}.${job.tool}` }}>
            {jobs.openLog}
          </Link>
        </p>
      )}
      <JobActions job={job} isOwn={isOwn} />
    </div>
  )
}

function useFacts(job: SchemaJobView, isChangeable: boolean): [string, ReactNode][] {
  const { jobs } = useMessages()
  const format = useFormat()
  const counted = job.progress !== null && job.total !== null
  const facts: [string, ReactNode][] = [
    [jobs.columns.state, <JobBadge key="state" job={job} />],
    [jobs.schedule, job.schedule_id && job.title],
    [jobs.code, job.module && <code key="code">{`${job.module}.${job.tool}`}</code>],
    [jobs.batch, !job.module && !job.schedule_id && job.title],
    [jobs.columns.progress, counted && jobs.progressOf(format.number(job.progress!), format.number(job.total!))],
    [jobs.message, job.state !== 'running' && job.message],
    [jobs.client, job.client && <AskedBy key="client" client={job.client} />],
    [jobs.notify, !isChangeable && job.notify !== 'never' && jobs.notifies[job.notify]],
    [jobs.columns.asked, <ExactTime key="asked" at={job.created_at} />],
    [jobs.started, job.started_at ? <ExactTime key="started" at={job.started_at} /> : jobs.notStarted],
    [jobs.columns.ended, job.finished_at && <ExactTime key="ended" at={job.finished_at} />],
    [jobs.attempt, format.number(job.attempt)],
    [jobs.keptUntil, <ExactTime key="kept" at={job.expires_at} />],
  ]
  return facts.filter(([, value]) => Boolean(value))
}

function findTone(job: SchemaJobView): 'bad' | 'warn' | 'none' {
  if (isAsking(job) || job.state === 'unknown') return 'warn'
  return job.state === 'failed' ? 'bad' : 'none'
}

/** Why there is no result, in words, and what to do. */
function Reason({ job }: { job: SchemaJobView }) {
  const { jobs } = useMessages()
  const reason = useReason(job)
  if (!reason) return null
  return (
    <section className={styles.reason} data-tone={findTone(job)}>
      <h3>{jobs.whatHappened}</h3>
      <p>{reason.why}</p>
      {reason.next && <p>{reason.next}</p>}
    </section>
  )
}
