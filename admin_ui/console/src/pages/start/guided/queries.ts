import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../../api/client.ts'
import { ownGrantsQuery, useMe } from '../../../api/queries.ts'
import { fetchLatestCall, overviewQuery } from '../queries.ts'
import type { Known } from './steps.ts'

const LOOKED_AT = 200
const ASK_EVERY_MS = 3_000

export const tenantQuery = queryOptions({ queryKey: ['tenant'], queryFn: () => readVersioned(api.GET('/api/v1/tenant', {})) })

const page = { params: { query: { limit: LOOKED_AT } } }

/** What the tenant can connect: its services, the providers of their accounts, and its OAuth clients there. */
const connectableQueries = {
  services: queryOptions({ queryKey: ['services', 'start'], queryFn: () => read(api.GET('/api/v1/services', page)) }),
  providers: queryOptions({ queryKey: ['providers', 'start'], queryFn: () => read(api.GET('/api/v1/providers', page)) }),
  clients: queryOptions({ queryKey: ['oauth-clients', 'start'], queryFn: () => read(api.GET('/api/v1/oauth-clients', page)) }),
}

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
  const services = useQuery(connectableQueries.services)
  const providers = useQuery(connectableQueries.providers)
  const clients = useQuery(connectableQueries.clients)
  const modules = useQuery(overviewQuery)
  const grants = useQuery(ownGrantsQuery)
  const call = useQuery(firstCallQuery(me.id))
  const all = [services, providers, clients, modules, grants, call]
  const failed = all.filter((query) => query.error !== null)
  const isComplete = all.every((query) => query.data !== undefined)
  const known: Known | null = isComplete
    ? {
        name: me.name,
        tenant: me.tenant,
        services: services.data!.items,
        providers: providers.data!.items,
        registered: new Set(clients.data!.items.map((client) => client.provider)),
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
