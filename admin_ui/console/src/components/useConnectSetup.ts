import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, read } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import type { ConnectSetup } from './connectMethods.ts'

/** Every service of the tenant; for administrators. */
export const servicesQuery = queryOptions({
  queryKey: ['services', 'all'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/services', { params: { query } }))),
})

const providersQuery = queryOptions({
  queryKey: ['providers', 'all'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/providers', { params: { query } }))),
})

const clientsQuery = queryOptions({
  queryKey: ['oauth-clients', 'all'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/oauth-clients', { params: { query } }))),
})

/** How the services of the tenant are connected; for administrators. */
export function useConnectSetup(): { data: ConnectSetup | undefined; error: unknown; refetch: () => unknown } {
  const services = useQuery(servicesQuery)
  const providers = useQuery(providersQuery)
  const clients = useQuery(clientsQuery)
  const failed = [services, providers, clients].filter((query) => query.error !== null)
  const isComplete = services.data && providers.data && clients.data
  return {
    data: isComplete && { services: services.data, providers: providers.data, clients: clients.data },
    error: failed[0]?.error ?? null,
    refetch: () => Promise.all(failed.map((query) => query.refetch())),
  }
}
