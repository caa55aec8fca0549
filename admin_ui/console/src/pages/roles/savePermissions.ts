import type { QueryClient } from '@tanstack/react-query'
import { api, readVersioned } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { expect, sendMerging, type Versioned } from '../../api/versions.ts'
import type { Changes } from './permissions.ts'
import { roleQuery } from './queries.ts'

/**
 * Add and remove permissions of a role; what somebody else has changed meanwhile stays. `takesBack` is an undo, which may
 * name tools of modules that are no longer installed.
 * @returns whether somebody had.
 */
export async function savePermissions(
  queries: QueryClient,
  role: Versioned<SchemaRoleView>,
  { allow, deny }: Changes,
  takesBack = false,
): Promise<boolean> {
  const path = { role_id: role.id }
  const body = {
    add: { allow: allow.add, deny: deny.add },
    remove: { allow: allow.remove, deny: deny.remove },
    allow_unknown: takesBack,
  }
  const { result, merged } = await sendMerging(role.etag, (etag) =>
    readVersioned(api.PATCH('/api/v1/roles/{role_id}/permissions', { params: { path, header: expect(etag) }, body })),
  )
  queries.setQueryData(roleQuery(role.id).queryKey, result)
  await queries.invalidateQueries({ queryKey: ['roles'] })
  return merged
}
