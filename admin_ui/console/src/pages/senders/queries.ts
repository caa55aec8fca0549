import { queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SenderKind } from './route.ts'

/** Those of the file and the stored ones: four at most. */
export const sendersQuery = queryOptions({
  queryKey: ['senders', 'list'],
  queryFn: async () => (await read(api.GET('/api/v1/deployment/notification-senders', {}))).items,
})

export const senderQuery = (kind: SenderKind) =>
  queryOptions({
    queryKey: ['senders', kind],
    queryFn: () =>
      readVersioned(
        api.GET('/api/v1/deployment/notification-senders/{sender_kind}', { params: { path: { sender_kind: kind } } }),
      ),
  })
