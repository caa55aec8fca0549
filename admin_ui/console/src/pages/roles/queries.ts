import { queryOptions } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaServiceToolView } from '../../api/schema.d.ts'

export const roleQuery = (id: string) =>
  queryOptions({
    queryKey: ['roles', id],
    queryFn: () => readVersioned(api.GET('/api/v1/roles/{role_id}', { params: { path: { role_id: id } } })),
  })

/** All tools of all installed modules: some hundred, and the same for every role. */
export const serviceToolsQuery = queryOptions({
  queryKey: ['service-tools'],
  queryFn: async () => {
    const tools: SchemaServiceToolView[] = []
    let cursor: string | null = null
    do {
      const query: { limit: number; cursor?: string } = { limit: 200, ...(cursor && { cursor }) }
      const page = await read(api.GET('/api/v1/service-tools', { params: { query } }))
      tools.push(...page.items)
      cursor = page.next_cursor
    } while (cursor)
    return tools
  },
  staleTime: 60_000,
})
