import { api, read } from './client.ts'
import type { paths, SchemaAuditPageView } from './schema.d.ts'

type AuditQuery = NonNullable<paths['/api/v1/audit']['get']['parameters']['query']>

/** Searches one after the other, of about 0.1 s, before a person is asked whether to go on. */
const MOST_SEARCHES = 30

/** A page of the audit log. What is rare is looked for until there is something, by so many searches at most. */
export async function fetchAuditPage(query: AuditQuery, mostSearches = MOST_SEARCHES): Promise<SchemaAuditPageView> {
  let page = await read(api.GET('/api/v1/audit', { params: { query } }))
  for (let count = 1; page.items.length === 0 && page.next_cursor !== null && count < mostSearches; count += 1) {
    page = await read(api.GET('/api/v1/audit', { params: { query: { ...query, cursor: page.next_cursor } } }))
  }
  return page
}
