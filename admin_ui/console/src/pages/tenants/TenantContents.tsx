import { useQuery } from '@tanstack/react-query'
import { BulletList } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { tenantContentsQuery } from './queries.ts'

const KINDS = ['users', 'roles', 'accounts', 'grants', 'tokens', 'sessions', 'oauth_clients', 'clients'] as const

/** Counts what a tenant has, and loses with its removal. */
export function TenantContents({ tenantId }: { tenantId: string }) {
  const { tenants } = useMessages()
  const { data, error, refetch } = useQuery(tenantContentsQuery(tenantId))
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton />
  const there = KINDS.filter((kind) => data[kind] > 0)
  if (there.length === 0) return <p>{tenants.nothing}</p>
  return <BulletList items={there.map((kind) => tenants.counts[kind](data[kind]))} />
}
