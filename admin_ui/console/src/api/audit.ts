import { api, read } from './client.ts'
import type { paths, SchemaAuditPageView } from './schema.d.ts'

type AuditQuery = NonNullable<paths['/api/v1/audit']['get']['parameters']['query']>

/** Searches one after the other, about a second of them, after which the page says how far it is, and may be stopped. */
const MOST_SEARCHES = 8

/** A page of the audit log. What is rare is looked for until there is something, by so many searches at most. */
export async function fetchAuditPage(query: AuditQuery): Promise<SchemaAuditPageView> {
  let page = await read(api.GET('/api/v1/audit', { params: { query } }))
  for (let count = 1; page.items.length === 0 && page.next_cursor !== null && count < MOST_SEARCHES; count += 1) {
    page = await read(api.GET('/api/v1/audit', { params: { query: { ...query, cursor: page.next_cursor } } }))
  }
  return page
}
