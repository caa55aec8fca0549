import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'
import { expect } from '../../api/versions.ts'
import type { SchemaUserView } from '../../api/schema.d.ts'

/** As many as a panel shows of each at first; the counts before a removal say "and more" beyond it. */
export const SHOWN = 100

const path = (id: string) => ({ params: { path: { user_id: id } } })
const ofUser = (id: string) => ({ params: { query: { user: id, limit: SHOWN } } })

export const userQuery = (id: string) =>
  queryOptions({ queryKey: ['users', id], queryFn: () => readVersioned(api.GET('/api/v1/users/{user_id}', path(id))) })

export const userRolesQuery = (id: string) =>
  queryOptions({
    queryKey: ['users', id, 'roles'],
    queryFn: () =>
      readAll((query) => read(api.GET('/api/v1/users/{user_id}/roles', { params: { path: { user_id: id }, query } }))),
  })

export const userConnectionsQuery = (id: string) =>
  queryOptions({ queryKey: ['users', id, 'connections'], queryFn: () => read(api.GET('/api/v1/connections', ofUser(id))) })

export const userSessionsQuery = (id: string) =>
  queryOptions({ queryKey: ['users', id, 'sessions'], queryFn: () => read(api.GET('/api/v1/sessions', ofUser(id))) })

export const userTokensQuery = (id: string) =>
  queryOptions({
    queryKey: ['users', id, 'tokens'],
    queryFn: () => read(api.GET('/api/v1/tokens', { params: { query: { ...ofUser(id).params.query, revoked: false } } })),
  })

export const userGrantsQuery = (id: string) =>
  queryOptions({ queryKey: ['users', id, 'grants'], queryFn: () => read(api.GET('/api/v1/oauth/grants', ofUser(id))) })

/** Change a user, of any version unless one is given; every list that shows them is fetched again. */
export async function changeUser(
  queries: QueryClient,
  id: string,
  body: Partial<Pick<SchemaUserView, 'name' | 'status' | 'system_role'>>,
  etag = '',
): Promise<void> {
  await read(api.PATCH('/api/v1/users/{user_id}', { params: { ...path(id).params, header: expect(etag) }, body }))
  await queries.invalidateQueries({ queryKey: ['users'] })
}
