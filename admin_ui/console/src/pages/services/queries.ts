import { queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'

export const serviceQuery = (module: string) =>
  queryOptions({
    queryKey: ['services', module],
    queryFn: () => readVersioned(api.GET('/api/v1/services/{module}', { params: { path: { module } } })),
  })

/** The providers of a service by which accounts are connected: OAuth servers that name it. */
export const oauthProvidersQuery = (module: string) =>
  queryOptions({
    queryKey: ['providers', 'of', module],
    queryFn: async () => {
      const all = await readAll((query) => read(api.GET('/api/v1/providers', { params: { query } })))
      return all.filter((one) => one.oauth && one.modules.includes(module))
    },
  })

/** The registered clients at the providers of a service; the tenant's own and those of its roles. */
export const serviceClientsQuery = (module: string) =>
  queryOptions({
    queryKey: ['oauth-clients', module],
    queryFn: () =>
      readAll((query) => read(api.GET('/api/v1/services/{module}/oauth-clients', { params: { path: { module }, query } }))),
  })

/** One registered client, with its version. */
export const clientQuery = (id: string) =>
  queryOptions({
    queryKey: ['oauth-clients', 'one', id],
    queryFn: () =>
      readVersioned(api.GET('/api/v1/oauth-clients/{oauth_client_id}', { params: { path: { oauth_client_id: id } } })),
  })

export const providerQuery = (id: string) =>
  queryOptions({
    queryKey: ['providers', id],
    queryFn: () => read(api.GET('/api/v1/providers/{provider_id}', { params: { path: { provider_id: id } } })),
  })

/** The roles to choose from, by name. */
export const roleNamesQuery = queryOptions({
  queryKey: ['roles', 'names'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/roles', { params: { query: { ...query, sort: 'name' } } }))),
})
