import { type InfiniteData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { fetchAuditPage } from '../../api/audit.ts'
import { api, read } from '../../api/client.ts'
import type { SchemaAuditItemView } from '../../api/schema.d.ts'
import { writeSort } from '../../app/search.ts'
import { buildLogQuery, joinNewest, type LogFilters, readOrder } from './filters.ts'

/** Rows of a page, and of what is newest while the page is live. */
export const PAGE = 100

interface LogPage {
  items: SchemaAuditItemView[]
  next_cursor: string | null
  searched_back_to: string | null
}

// Of its own, so that hints do not fetch every page of it: while the page is live, it fetches the newest itself.
export const logKey = (filters: LogFilters) => ['log', 'list', filters]

/** How long the tenant's log is kept. */
export const RETENTION_KEY = ['audit', 'retention'] as const

export function fetchLogPage(filters: LogFilters, cursor?: string): Promise<LogPage> {
  const sort = writeSort(readOrder(filters)) as `${'' | '-'}occurred_at`
  const query = { ...buildLogQuery(filters, Date.now()), sort, limit: PAGE, ...(cursor && { cursor }) }
  return fetchAuditPage(query)
}

/** An entry by its number; its time finds it, because the API lists by time. Null where there is none. */
export const entryQuery = (id: string, at: string) =>
  queryOptions({
    queryKey: ['log', 'one', id],
    queryFn: async () => {
      const until = new Date(Date.parse(at) + 1).toISOString()
      const { items } = await read(api.GET('/api/v1/audit', { params: { query: { since: at, until, limit: 200 } } }))
      return items.find((item) => String(item.seq) === id) ?? null
    },
  })

/** Put the newest entries before those that are shown; where something is missing between them, fetch the list anew. */
export function putNewest(queries: QueryClient, filters: LogFilters, newest: SchemaAuditItemView[]): void {
  const key = logKey(filters)
  const data = queries.getQueryData<InfiniteData<LogPage>>(key)
  const joined = data && joinNewest(data.pages.flatMap((page) => page.items), newest)
  if (!joined) return void queries.invalidateQueries({ queryKey: key })
  const last = data.pages.at(-1)!
  queries.setQueryData<InfiniteData<LogPage>>(key, {
    pages: [{ ...last, items: joined }],
    pageParams: [undefined],
  })
}
