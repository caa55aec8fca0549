import { useQuery } from '@tanstack/react-query'
import { CircleCheck, LoaderCircle } from 'lucide-react'
import { useMe } from '../../api/queries.ts'
import { ProblemNotice } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './start.module.css'
import { type ClientCall, fetchLatestCall } from './queries.ts'

const ASK_EVERY_MS = 3_000

/** Whether a client has called: asked every few seconds until it has. Calls of before do not count. */
export function FirstCall() {
  const me = useMe()
  const before = useQuery({
    queryKey: ['audit', 'call-before', me.id],
    queryFn: () => fetchLatestCall(me.id),
    staleTime: Infinity,
    gcTime: 0,
    meta: { fixed: true }, // a hint of the call must not make it one of before
  })
  const known = before.data?.seq ?? 0
  const latest = useQuery({
    queryKey: ['audit', 'latest-call', me.id],
    queryFn: () => fetchLatestCall(me.id),
    enabled: before.isSuccess,
    staleTime: 0,
    refetchInterval: (query) => ((query.state.data?.seq ?? 0) > known ? false : ASK_EVERY_MS),
  })
  const call = latest.data && latest.data.seq > known ? latest.data : null
  const error = before.error ?? latest.error
  if (error) return <ProblemNotice error={error} onRetry={() => void (before.error ? before.refetch() : latest.refetch())} />
  return <CallState call={call} before={before.data ?? null} />
}

/** A client's call, or that none has come; `before` is one of before that. */
export function CallState({ call, before = null }: { call: ClientCall | null; before?: ClientCall | null }) {
  const { clients } = useMessages()
  return (
    <div className={styles.firstCall} data-done={call !== null}>
      <h3>{clients.worked}</h3>
      <p role="status">
        {call ? (
          <>
            <CircleCheck size={16} aria-hidden /> {clients.firstCall} <code>{call.name}</code>{' '}
            {call.client && <span dir="auto">({call.client})</span>} <ExactTime at={call.at} />
          </>
        ) : (
          <>
            <LoaderCircle size={16} aria-hidden className={styles.spinner} /> {clients.waiting}
          </>
        )}
      </p>
      {!call && before && (
        <p className={styles.muted}>
          {clients.lastCall} <code>{before.name}</code> <ExactTime at={before.at} />
        </p>
      )}
    </div>
  )
}
