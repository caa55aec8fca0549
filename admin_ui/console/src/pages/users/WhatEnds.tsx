import { useQueries } from '@tanstack/react-query'
import { BulletList } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { userConnectionsQuery, userGrantsQuery, userSessionsQuery, userTokensQuery } from './queries.ts'

interface Ends {
  /** What ends, one text a kind; null until it is counted. */
  parts: readonly string[] | null
  error: unknown
  retry: () => void
}

/** Count what a person loses; `accounts` at services end too when a person is removed. */
export function useWhatEnds(userId: string, accounts: boolean): Ends {
  const { ends } = useMessages().users
  const asked = useQueries({
    queries: [userSessionsQuery(userId), userTokensQuery(userId), userGrantsQuery(userId), userConnectionsQuery(userId)],
  })
  const failed = asked.find((query) => query.error)
  const [sessions, tokens, grants] = asked.map((query) => query.data)
  const connections = asked[3].data
  const retry = () => void failed?.refetch()
  if (!sessions || !tokens || !grants || !connections) return { parts: null, error: failed?.error ?? null, retry }
  const own = connections.items.filter((connection) => connection.kind === 'personal' && connection.credential_id)
  const counts = [
    { text: ends.sessions, count: sessions.items.length, more: sessions.next_cursor },
    { text: ends.tokens, count: tokens.items.length, more: tokens.next_cursor },
    { text: ends.grants, count: grants.items.length, more: grants.next_cursor },
    ...(accounts ? [{ text: ends.accounts, count: own.length, more: connections.next_cursor }] : []),
  ].filter(({ count }) => count > 0)
  const parts = counts.map(({ text, count, more }) => (more ? `${text(count)} ${ends.more}` : text(count)))
  return { parts, error: failed?.error ?? null, retry }
}

/** What a person loses, or that it is not known yet. */
export function WhatEnds({ parts, error, retry }: Ends) {
  const { ends } = useMessages().users
  if (error) return <ProblemNotice error={error} onRetry={retry} />
  if (parts === null) return <Skeleton />
  return parts.length === 0 ? <p>{ends.nothing}</p> : <BulletList items={parts} />
}
