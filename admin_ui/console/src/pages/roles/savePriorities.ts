import type { QueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import { expect } from '../../api/versions.ts'
import type { PriorityChange } from './priorities.ts'
import { roleQuery } from './queries.ts'

/**
 * Set priorities one after the other, each only where the role still has the one that was seen: an order that somebody
 * else has changed meanwhile is not a place to put a role into.
 * @throws {Problem} a role has another priority by now, or the API refuses.
 */
export async function savePriorities(queries: QueryClient, changes: readonly PriorityChange[]): Promise<void> {
  for (const { id, from, to } of changes) {
    const role = await queries.fetchQuery({ ...roleQuery(id), staleTime: 0 })
    if (role.priority !== from) throw new Problem(412, { code: 'version_conflict' })
    const params = { path: { role_id: id }, header: expect(role.etag) }
    await read(api.PATCH('/api/v1/roles/{role_id}', { params, body: { priority: to } }))
  }
}
