import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SchemaAuditItemView } from '../../api/schema.d.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Facts, Section } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { LogBadge, nameEntry } from '../../components/LogBadge.tsx'
import styles from './logs.module.css'
import { entryQuery } from './queries.ts'

const PANEL = ['id', 'at'] as const

interface LogPanelProps {
  id: string
  at: string
  /** The entry, where the list has it. */
  known: SchemaAuditItemView | undefined
}

/** Everything that the log says of an entry, and what belongs to it. */
export function LogPanel({ id, at, known }: LogPanelProps) {
  const { logs } = useMessages()
  const { close } = useOverlay(PANEL)
  const fetched = useQuery({ ...entryQuery(id, at), enabled: known === undefined })
  const entry = known ?? fetched.data
  return (
    <DetailPanel title={entry ? nameEntry(entry) : logs.entry(id)} onClose={close}>
      <div className={styles.panel}>
        {entry && <EntryDetail entry={entry} />}
        {!entry && fetched.error && <ProblemNotice error={fetched.error} onRetry={() => void fetched.refetch()} />}
        {!entry && fetched.isLoading && <Skeleton lines={6} />}
        {entry === null && <p>{logs.noEntry}</p>}
      </div>
    </DetailPanel>
  )
}

function EntryDetail({ entry }: { entry: SchemaAuditItemView }) {
  const { logs } = useMessages()
  const format = useFormat()
  const { denial } = entry
  const facts: [string, ReactNode][] = [
    [logs.columns.time, format.exact(entry.occurred_at)],
    [logs.columns.actor, entry.actor],
    [logs.columns.outcome, entry.outcome && <LogBadge entry={entry} />],
    [logs.kind, <code key="kind">{entry.kind}</code>],
    [logs.columns.duration, entry.duration_us !== null && logs.milliseconds(format.number(entry.duration_us / 1000))],
    [logs.columns.client, entry.client],
    [logs.credential, entry.credential_id && <code key="credential">{entry.credential_id}</code>],
    [logs.number, format.number(entry.seq)],
    [logs.digest, entry.arguments_digest && <code key="digest">{entry.arguments_digest}</code>],
  ]
  const details = Object.entries(entry.detail)
  return (
    <>
      {denial && <p className={styles.alert}>{logs.denialTexts[denial]}</p>}
      <Facts facts={facts.filter(([, value]) => Boolean(value))} />
      {details.length > 0 && (
        <Section title={logs.details}>
          <Facts facts={details.map(([name, value]) => [name, String(value)] as const)} />
        </Section>
      )}
      {entry.module && (
        <Section title={logs.arguments} help={entry.arguments === null ? logs.noArguments : ''}>
          {entry.arguments !== null && (
            <pre className={styles.code} tabIndex={0} aria-label={logs.arguments} role="region">
              {entry.arguments}
            </pre>
          )}
        </Section>
      )}
      {entry.request_id && <CopyField label={logs.requestId} value={entry.request_id} />}
      <Section title={logs.related}>
        <Related entry={entry} />
      </Section>
    </>
  )
}

function Related({ entry }: { entry: SchemaAuditItemView }) {
  const { logs } = useMessages()
  return (
    <ul>
      {entry.user_id && (
        <li>
          <Link to="/logs" search={{ user: entry.user_id }}>
            {logs.samePerson}
          </Link>
        </li>
      )}
      {entry.module && (
        <li>
          <Link to="/logs" search={{ tool: nameEntry(entry) }}>
            {logs.sameTool}
          </Link>
        </li>
      )}
      {entry.request_id && (
        <li>
          <Link to="/logs" search={{ request: entry.request_id }}>
            {logs.sameRequest}
          </Link>
        </li>
      )}
      {entry.user_id && (
        <li>
          <Link to="/users" search={{ id: entry.user_id }}>
            {logs.openPerson}
          </Link>
        </li>
      )}
    </ul>
  )
}
