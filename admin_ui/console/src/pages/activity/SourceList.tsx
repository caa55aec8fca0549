import { Link2 } from 'lucide-react'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './activity.module.css'
import type { ActivitySource } from './queries.ts'
import { listSources, useSourceName } from './sources.ts'

/** From where the entries come, and what is missing because an account is. */
export function SourceList({ sources }: { sources: readonly ActivitySource[] }) {
  const { activity } = useMessages()
  const nameSource = useSourceName()
  const colors = listSources(sources)
  return (
    <ul className={styles.sources} aria-label={activity.lanes}>
      {sources.map((one) => (
        <li key={one.source}>
          <span className={styles.source} data-source={colors.get(one.source)}>
            {nameSource(one.source)}
          </span>
          <SourceState source={one} />
        </li>
      ))}
    </ul>
  )
}

function SourceState({ source }: { source: ActivitySource }) {
  const { activity } = useMessages()
  const format = useFormat()
  const nameSource = useSourceName()
  const { connected, connect_url: url, synced_at: syncedAt, error } = source
  if (!connected) {
    return (
      <>
        <StatusBadge tone="warn" text={activity.notConnected} />
        {url && isLinkable(url) ? (
          <ConnectLink url={url} text={activity.connect(nameSource(source.source))} />
        ) : (
          error && <Reason text={error} />
        )}
      </>
    )
  }
  if (error) {
    return (
      <>
        <StatusBadge tone="bad" text={activity.failed} />
        {error.includes(`${location.origin}/connect/${source.source}`) && (
          <ConnectLink url={`${location.origin}/connect/${source.source}`} text={activity.connectAgain(nameSource(source.source))} />
        )}
        <Reason text={error} />
      </>
    )
  }
  return (
    <>
      <StatusBadge tone="ok" text={activity.connected} />
      <span className={styles.note}>{syncedAt ? activity.synced(format.relative(syncedAt)) : activity.live}</span>
    </>
  )
}

function ConnectLink({ url, text }: { url: string; text: string }) {
  return (
    <a href={url} className={styles.connect}>
      <Link2 size={14} aria-hidden />
      {text}
    </a>
  )
}

/** What the tool says of it. */
function Reason({ text }: { text: string }) {
  return (
    <span className={styles.note} lang="en" dir="auto">
      {text}
    </span>
  )
}

/** Our own page of connections, or another one that is reached safely. */
function isLinkable(url: string): boolean {
  return url.startsWith('https://') || url.startsWith(`${location.origin}/`)
}
