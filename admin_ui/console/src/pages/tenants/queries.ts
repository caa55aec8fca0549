import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaOperatorTenantChange } from '../../api/schema.d.ts'
import { expect } from '../../api/versions.ts'

const path = (id: string) => ({ path: { tenant_id: id } })

export const tenantQuery = (id: string) =>
  queryOptions({
    queryKey: ['tenants', id],
    queryFn: () => readVersioned(api.GET('/api/v1/tenants/{tenant_id}', { params: path(id) })),
  })

/** How much a tenant has of what ends with it. */
export const tenantContentsQuery = (id: string) =>
  queryOptions({
    queryKey: ['tenants', id, 'contents'],
    queryFn: () => read(api.GET('/api/v1/tenants/{tenant_id}/contents', { params: path(id) })),
  })

/** Change a tenant, of any version unless one is given; every list that shows it is fetched again. */
export async function changeTenant(
  queries: QueryClient,
  id: string,
  body: Partial<Pick<SchemaOperatorTenantChange, 'name' | 'status'>>,
  etag = '',
): Promise<void> {
  await read(api.PATCH('/api/v1/tenants/{tenant_id}', { params: { ...path(id), header: expect(etag) }, body }))
  await queries.invalidateQueries({ queryKey: ['tenants'] })
}
