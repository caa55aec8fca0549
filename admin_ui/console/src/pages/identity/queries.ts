import { queryOptions } from '@tanstack/react-query'
import { api, readVersioned } from '../../api/client.ts'

export const identityProviderQuery = (id: string) =>
  queryOptions({
    queryKey: ['identity-providers', id],
    queryFn: () =>
      readVersioned(
        api.GET('/api/v1/deployment/identity-providers/{identity_provider_id}', {
          params: { path: { identity_provider_id: id } },
        }),
      ),
  })
