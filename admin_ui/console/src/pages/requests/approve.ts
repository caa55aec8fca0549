import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaAccessRequestView, SchemaRoleView } from '../../api/schema.d.ts'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { userRolesQuery } from '../users/queries.ts'
import { pathOf } from './queries.ts'

export type Target = Pick<SchemaRoleView, 'id' | 'name' | 'members'>

const CHANGED = ['access-requests', 'users', 'roles']

/**
 * Approves a request into a role; with `allow` the role is changed first. Undo takes the role away again and opens the
 * request: not where the person had the role before, nor where the role was changed, which concerns others.
 */
export function useApprove(request: SchemaAccessRequestView) {
  const { requests } = useMessages()
  const queries = useQueryClient()
  const refresh = () => Promise.all(CHANGED.map((resource) => queries.invalidateQueries({ queryKey: [resource] })))
  return async (role: Target, allow: boolean) => {
    const before = await queries.fetchQuery({ ...userRolesQuery(request.user_id), staleTime: 0 })
    const isNew = before.every(({ id }) => id !== role.id)
    await read(
      api.POST('/api/v1/access-requests/{request_id}/approval', {
        params: pathOf(request.id),
        body: { role_id: role.id, allow },
      }),
    )
    const undo = async () => {
      const path = { user_id: request.user_id, role_id: role.id }
      await read(api.DELETE('/api/v1/users/{user_id}/roles/{role_id}', { params: { path } }))
      await reopen(request)
      await refresh()
    }
    showToast(requests.approved(request.email, role.name), isNew && !allow ? undo : undefined)
    await refresh()
  }
}

/** Takes back the decision about a request. */
export async function reopen(request: SchemaAccessRequestView): Promise<void> {
  await read(api.POST('/api/v1/access-requests/{request_id}/reopening', { params: pathOf(request.id) }))
}
