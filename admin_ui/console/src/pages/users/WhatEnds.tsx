import { useQueries } from '@tanstack/react-query'
import { BulletList } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { userConnectionsQuery, userGrantsQuery, userSessionsQuery, userTokensQuery } from './queries.ts'

interface WhatEndsProps {
  userId: string
  /** Accounts at services end too, as when a person is removed. */
  accounts: boolean
}

/** Counts what a person loses. */
export function WhatEnds({ userId, accounts }: WhatEndsProps) {
  const { ends } = useMessages().users
  const asked = useQueries({
    queries: [userSessionsQuery(userId), userTokensQuery(userId), userGrantsQuery(userId), userConnectionsQuery(userId)],
  })
  const failed = asked.find((query) => query.error)
  if (failed) return <ProblemNotice error={failed.error} onRetry={() => void failed.refetch()} />
  const [sessions, tokens, grants, connections] = asked.map((query) => query.data)
  if (!sessions || !tokens || !grants || !connections) return <Skeleton />
  const own = asked[3].data!.items.filter((connection) => connection.kind === 'personal' && connection.credential_id)
  const parts = [
    { text: ends.sessions, count: sessions.items.length, more: sessions.next_cursor },
    { text: ends.tokens, count: tokens.items.length, more: tokens.next_cursor },
    { text: ends.grants, count: grants.items.length, more: grants.next_cursor },
    ...(accounts ? [{ text: ends.accounts, count: own.length, more: connections.next_cursor }] : []),
  ].filter(({ count }) => count > 0)
  if (parts.length === 0) return <p>{ends.nothing}</p>
  return <BulletList items={parts.map(({ text, count, more }) => (more ? `${text(count)} ${ends.more}` : text(count)))} />
}
