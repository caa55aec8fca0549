import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, readVersioned } from '../../../api/client.ts'
import { ownGrantsQuery, useMe } from '../../../api/queries.ts'
import { useConnectSetup } from '../../../components/useConnectSetup.ts'
import { fetchLatestCall, overviewQuery } from '../queries.ts'
import type { Known } from './steps.ts'

const ASK_EVERY_MS = 3_000

export const tenantQuery = queryOptions({ queryKey: ['tenant'], queryFn: () => readVersioned(api.GET('/api/v1/tenant', {})) })

/** The first thing that a client of the person's has called is not told by hints: the log would move with each call. */
const firstCallQuery = (userId: string) =>
  queryOptions({
    queryKey: ['audit', 'first-call', userId],
    queryFn: () => fetchLatestCall(userId),
    refetchInterval: ({ state }) => (state.data ? false : ASK_EVERY_MS),
  })

/** Everything that the steps of the guided start are seen from. */
export function useKnown() {
  const me = useMe()
  const setup = useConnectSetup()
  const modules = useQuery(overviewQuery)
  const grants = useQuery(ownGrantsQuery)
  const call = useQuery(firstCallQuery(me.id))
  const all = [setup, modules, grants, call]
  const failed = all.filter((query) => query.error !== null)
  const isComplete = all.every((query) => query.data !== undefined)
  const known: Known | null = isComplete
    ? {
        name: me.name,
        tenant: me.tenant,
        setup: setup.data!,
        modules: modules.data!.items,
        grants: grants.data!.items.length,
        hasCalled: call.data !== null,
      }
    : null
  return {
    known,
    call: call.data ?? null,
    error: failed[0]?.error ?? null,
    retry: () => void Promise.all(failed.map((query) => query.refetch())),
  }
}
