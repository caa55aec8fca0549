import { useQuery } from '@tanstack/react-query'
import { ConnectionBadge } from '../../components/ConnectionBadge.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { userConnectionsQuery } from './queries.ts'

/** How a person's accounts at services stand; never a secret. */
export function UserConnections({ userId }: { userId: string }) {
  const { users } = useMessages()
  const { data, error, refetch } = useQuery(userConnectionsQuery(userId))
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton />
  return (
    <ItemList
      label={users.tabs.connections}
      items={data.items}
      itemKey={(one) => one.credential_id ?? `${one.module} ${one.kind}`}
      title={(one) => (one.account ? `${one.module} · ${one.account}` : one.module)}
      detail={(one) => [one.kind === 'shared' ? users.sharedAccount(one.owner) : users.ownAccount, one.message].filter(Boolean).join(' · ')}
      end={(one) => <ConnectionBadge state={one.state} />}
      empty={users.noConnections}
    />
  )
}
