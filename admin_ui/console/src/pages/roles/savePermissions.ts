import type { QueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { applyChanges, type Changes, compare, countChanges, type Grants } from './permissions.ts'
import { roleQuery } from './queries.ts'

/**
 * Make the changes to the role as it is now, so that what somebody else has changed meanwhile stays.
 * @returns whether somebody had.
 */
export async function savePermissions(queries: QueryClient, role: SchemaRoleView, changes: Changes): Promise<boolean> {
  const path = { role_id: role.id }
  const now = await read(api.GET('/api/v1/roles/{role_id}', { params: { path } }))
  const { allow, deny } = applyChanges(readGrants(now), changes)
  const body = { allow: [...allow], deny: [...deny], allow_unknown: false }
  const saved = await read(api.PUT('/api/v1/roles/{role_id}/permissions', { params: { path }, body }))
  queries.setQueryData(roleQuery(role.id).queryKey, saved)
  await queries.invalidateQueries({ queryKey: ['roles'] })
  return countChanges(compare(readGrants(role), readGrants(now))) > 0
}

function readGrants(role: SchemaRoleView): Grants {
  return { allow: new Set(role.allow), deny: new Set(role.deny) }
}
