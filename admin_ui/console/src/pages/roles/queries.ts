import { queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'

export const roleQuery = (id: string) =>
  queryOptions({
    queryKey: ['roles', id],
    queryFn: () => readVersioned(api.GET('/api/v1/roles/{role_id}', { params: { path: { role_id: id } } })),
  })

/** All tools of all installed modules: some hundred, and the same for every role. */
export const serviceToolsQuery = queryOptions({
  queryKey: ['service-tools'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/service-tools', { params: { query } }))),
  staleTime: 60_000,
})

/** The roles by priority: as many as a page of the API has. */
export const orderedRolesQuery = queryOptions({
  queryKey: ['roles', 'order'],
  queryFn: () => read(api.GET('/api/v1/roles', { params: { query: { sort: '-priority', limit: 200 } } })),
})

/** The services that are on and need an account at a vendor. */
export const vendorServicesQuery = queryOptions({
  queryKey: ['services', 'with-vendor'],
  queryFn: async () => {
    const services = await readAll((query) => read(api.GET('/api/v1/services', { params: { query } })))
    return services.filter((service) => service.enabled && service.installed && service.has_vendor)
  },
})

/** The accounts that a role shares: one a service at most. */
export const roleCredentialsQuery = (id: string) =>
  queryOptions({
    queryKey: ['credentials', 'role', id],
    queryFn: () => readAll((query) => read(api.GET('/api/v1/credentials', { params: { query: { ...query, role: id } } }))),
  })

/** The role's own OAuth clients, one a provider at most, with the services that each is for. */
export const roleClientsQuery = (id: string) =>
  queryOptions({
    queryKey: ['oauth-clients', 'role', id],
    queryFn: async () => {
      const [clients, providers] = await Promise.all([
        readAll((query) => read(api.GET('/api/v1/oauth-clients', { params: { query: { ...query, role: id } } }))),
        readAll((query) => read(api.GET('/api/v1/providers', { params: { query } }))),
      ])
      const modules = new Map(providers.map((provider) => [provider.id, provider.modules]))
      return clients.map(({ client_id, provider }) => ({ clientId: client_id, modules: modules.get(provider) ?? [] }))
    },
  })

export interface RoleClient {
  clientId: string
  modules: readonly string[]
}
