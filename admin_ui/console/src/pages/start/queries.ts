import { queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'

/** Client id of the console's own playground, whose calls are no client's. */
const PLAYGROUND = 'mcpist-console'

/** The address for clients, as the server tells them (RFC 9728). */
export const mcpUrlQuery = queryOptions({
  queryKey: ['mcp-url'],
  queryFn: async () => {
    const answer = await fetch('/.well-known/oauth-protected-resource/mcp').catch(() => null)
    if (!answer?.ok) throw new Problem(answer?.status ?? 0, {})
    const { resource } = (await answer.json()) as { resource: string }
    return resource
  },
  staleTime: Infinity,
})

/** The person's services and how they are connected; as many as a start page looks at. */
export const overviewQuery = queryOptions({
  queryKey: ['tool-modules', 'overview'],
  queryFn: () => read(api.GET('/api/v1/tool-modules', { params: { query: { limit: 100 } } })),
})

export interface ClientCall {
  seq: number
  at: string
  client: string
  name: string
}

/** The person's latest call by a client, null before the first. */
export async function fetchLatestCall(userId: string): Promise<ClientCall | null> {
  const { items } = await read(api.GET('/api/v1/audit', { params: { query: { kind: 'call', user: userId, limit: 10 } } }))
  const call = items.find((item) => item.client !== PLAYGROUND)
  return call ? { seq: call.seq, at: call.occurred_at, client: call.client, name: `${call.module}.${call.tool}` } : null
}
