import { useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView, SchemaUserView } from '../../api/schema.d.ts'
import { IconButton } from '../../components/Button.tsx'
import { ItemList, Section } from '../../components/Facts.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { userRolesQuery } from './queries.ts'

/** The roles of a person, added and taken away one at a time. */
export function UserRoles({ user }: { user: SchemaUserView }) {
  const { problems, users } = useMessages()
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(userRolesQuery(user.id))
  const { problem, run } = useAction()
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton />
  const change = async (role: Pick<SchemaRoleView, 'id'>, add: boolean) => {
    const at = { params: { path: { user_id: user.id, role_id: role.id } } }
    await read(add ? api.PUT('/api/v1/users/{user_id}/roles/{role_id}', at) : api.DELETE('/api/v1/users/{user_id}/roles/{role_id}', at))
    await Promise.all([queries.invalidateQueries({ queryKey: ['users'] }), queries.invalidateQueries({ queryKey: ['roles'] })])
  }
  const assign = (role: { id: string; text: string }) =>
    run(async () => {
      await change(role, true)
      showToast(users.assigned(role.text), () => change(role, false))
    })
  const unassign = (role: SchemaRoleView) =>
    run(async () => {
      await change(role, false)
      showToast(users.unassigned(role.name), () => change(role, true))
    })
  const has = new Set(data.map((role) => role.id))
  return (
    <Section title={users.tabs.roles} help={users.rolesHelp}>
      <FindBox
        label={users.addRole}
        resource="roles"
        find={async (q) => {
          const page = await read(api.GET('/api/v1/roles', { params: { query: { q, sort: 'name', limit: 20 } } }))
          return page.items.filter((role) => !has.has(role.id)).map((role) => ({ id: role.id, text: role.name }))
        }}
        onChoose={(role) => void assign(role)}
      />
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ItemList
        label={users.tabs.roles}
        items={data}
        itemKey={(role) => role.id}
        title={(role) => role.name}
        end={(role) => <IconButton icon={X} label={users.unassign(role.name)} onPress={() => void unassign(role)} />}
        empty={users.noRoles}
      />
    </Section>
  )
}
