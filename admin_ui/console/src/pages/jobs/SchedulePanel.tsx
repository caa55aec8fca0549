import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMe } from '../../api/queries.ts'
import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './jobs.module.css'
import { scheduleQuery } from './queries.ts'
import { ScheduleActions } from './ScheduleActions.tsx'
import { ScheduleBadge } from './ScheduleBadge.tsx'
import { LastRun } from './ScheduleList.tsx'
import { ScheduleRule } from './ScheduleRule.tsx'
import { useToolName } from './useToolName.ts'

const PANEL = ['id', 'dialog'] as const

/** A schedule: when it runs, whether it may, and what ends or pauses it. */
export function SchedulePanel({ id }: { id: string }) {
  const { schedules } = useMessages()
  const { close } = useOverlay(PANEL)
  const nameTool = useToolName()
  const { data, error, refetch } = useQuery(scheduleQuery(id))
  return (
    <DetailPanel
      title={data ? data.title || nameTool(data) : schedules.schedule}
      {...(data && { subtitle: data.user_email })}
      onClose={close}
      padded
    >
      {data ? (
        <ScheduleDetail schedule={data} />
      ) : error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </DetailPanel>
  )
}

function ScheduleDetail({ schedule }: { schedule: SchemaScheduleView }) {
  const isOwn = schedule.user_id === useMe().id
  return (
    <div className={styles.panel}>
      <Standing schedule={schedule} />
      <Facts facts={useFacts(schedule)} />
      <ScheduleActions schedule={schedule} isOwn={isOwn} />
    </div>
  )
}

/** What it waits for, or why it has ended. */
function Standing({ schedule }: { schedule: SchemaScheduleView }) {
  const { schedules } = useMessages()
  const { state, consent_url: consent, end_reason: reason } = schedule
  if (state === 'waiting_for_consent')
    return (
      <section className={styles.reason} data-tone="warn">
        <p>{consent ? schedules.waitsOwn : schedules.waits}</p>
        {consent && (
          <p>
            <a href={consent}>{schedules.agree}</a>
          </p>
        )}
      </section>
    )
  if (state !== 'ended' || !reason) return null
  return (
    <section className={styles.reason}>
      <h3>{schedules.whyEnded}</h3>
      <p>{schedules.endReasons[reason] ?? schedules.otherEnd(reason)}</p>
    </section>
  )
}

function useFacts(schedule: SchemaScheduleView): [string, ReactNode][] {
  const { jobs, schedules } = useMessages()
  const format = useFormat()
  const nameTool = useToolName()
  const { columns } = schedules
  const next = schedule.next_run_at && (
    <>
      {format.hour(schedule.next_run_at)} · <ExactTime at={schedule.next_run_at} />
    </>
  )
  const facts: [string, ReactNode][] = [
    [jobs.columns.state, <ScheduleBadge key="state" state={schedule.state} />],
    [columns.tool, nameTool(schedule)],
    [jobs.code, schedule.module && <code key="code">{`${schedule.module}.${schedule.tool}`}</code>],
    [columns.when, <ScheduleRule key="when" schedule={schedule} />],
    [schedules.zone, schedule.cron && schedule.time_zone],
    [columns.next, next || schedules.noNext],
    [columns.last, schedule.last_run_at && <LastRun key="last" schedule={schedule} />],
    [schedules.skipped, schedule.skipped_runs > 0 && format.number(schedule.skipped_runs)],
    [schedules.overlap, schedules.overlaps[schedule.overlap]],
    [jobs.notify, jobs.notifies[schedule.notify]],
    [columns.made, <ExactTime key="made" at={schedule.created_at} />],
    [schedules.agreed, schedule.consented_at && <ExactTime key="agreed" at={schedule.consented_at} />],
    [
      schedules.permittedUntil,
      schedule.consented_at && schedule.mandate_expires_at && <ExactTime key="until" at={schedule.mandate_expires_at} />,
    ],
  ]
  return facts.filter(([, value]) => Boolean(value))
}
