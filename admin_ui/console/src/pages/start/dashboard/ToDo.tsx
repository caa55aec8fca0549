import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMe } from '../../../api/queries.ts'
import { Localized } from '../../../components/Localized.tsx'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { StatusBadge, type Tone } from '../../../components/StatusBadge.tsx'
import { nameCheck } from '../../../messages/checks.ts'
import { useMessages } from '../../../messages/index.tsx'
import styles from './dashboard.module.css'
import { connectionCountsQuery, findingsQuery, openRequestsQuery } from './queries.ts'
import { countFailing } from './health.ts'

const SHOWN = 8

/** What waits for an administrator: requests, accounts that fail, and what the checks have found. */
export function ToDo() {
  const { dashboard, doctor, guidedStart } = useMessages()
  const me = useMe()
  const requests = useQuery(openRequestsQuery)
  const accounts = useQuery(connectionCountsQuery)
  const checks = useQuery(findingsQuery)
  const asked = requests.data?.items.length ?? 0
  const failing = countFailing(accounts.data?.counts ?? [])
  const findings = (checks.data?.checks ?? []).filter((one) => one.state !== 'ok')
  const error = requests.error ?? checks.error
  const isPending = requests.isPending || checks.isPending || accounts.isPending
  const isQuiet = !isPending && !error && !me.guided_start && asked + failing + findings.length === 0
  return (
    <section className={styles.card} aria-labelledby="dashboard-todo">
      <h2 id="dashboard-todo">{dashboard.toDo}</h2>
      {isPending && !error && <Skeleton lines={2} />}
      {error && (
        <ProblemNotice error={error} onRetry={() => void Promise.all([requests.refetch(), checks.refetch(), accounts.refetch()])} />
      )}
      <ul className={styles.toDo}>
        {me.guided_start && (
          <Line tone="info" state={guidedStart.title}>
            <Link to="/" search={{ start: 'next' }}>
              {guidedStart.resume}
            </Link>
          </Line>
        )}
        {asked > 0 && (
          <Line tone="info" state={dashboard.asked(asked)}>
            <Link to="/requests">{dashboard.decide}</Link>
          </Line>
        )}
        {failing > 0 && (
          <Line tone="bad" state={dashboard.failingAccounts(failing)}>
            {dashboard.reconnect}
          </Line>
        )}
        {findings.slice(0, SHOWN).map((one) => (
          <Line key={`${one.check} ${one.message}`} tone={one.state === 'error' ? 'bad' : 'warn'} state={nameCheck(doctor, one.check)}>
            <Localized text={{ en: one.message, ja: one.message_ja }} />
          </Line>
        ))}
      </ul>
      {findings.length > SHOWN && <p className={styles.muted}>{dashboard.moreFindings(findings.length - SHOWN)}</p>}
      {isQuiet && <p className={styles.muted}>{dashboard.nothingToDo}</p>}
    </section>
  )
}

function Line({ tone, state, children }: { tone: Tone; state: string; children: ReactNode }) {
  return (
    <li>
      <StatusBadge tone={tone} text={state} /> <span>{children}</span>
    </li>
  )
}
