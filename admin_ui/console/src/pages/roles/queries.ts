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

/** The accounts that a role shares: one a service at most. */
export const roleCredentialsQuery = (id: string) =>
  queryOptions({
    queryKey: ['credentials', 'role', id],
    queryFn: () => readAll((query) => read(api.GET('/api/v1/credentials', { params: { query: { ...query, role: id } } }))),
  })
