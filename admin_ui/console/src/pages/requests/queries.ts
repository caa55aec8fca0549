import { queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'

export const pathOf = (id: string) => ({ path: { request_id: id } })

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ['access-requests', 'one', id],
    queryFn: () => read(api.GET('/api/v1/access-requests/{request_id}', { params: pathOf(id) })),
  })

/** The roles that permit what is asked for. */
export const fittingRolesQuery = (id: string) =>
  queryOptions({
    queryKey: ['access-requests', 'roles', id],
    queryFn: () =>
      read(api.GET('/api/v1/access-requests/{request_id}/roles', { params: { ...pathOf(id), query: { limit: 50 } } })),
  })
