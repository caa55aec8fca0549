import { useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { IconButton } from '../../components/Button.tsx'
import { Section } from '../../components/Facts.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { ItemTools } from '../../components/ItemTools.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { ProblemNotice } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

type MemberOrder = 'email' | '-email' | 'name'

/** Who has the role. */
export function RoleMembers({ role }: { role: SchemaRoleView }) {
  const { common, problems, roles, users } = useMessages()
  const queries = useQueryClient()
  const { problem, run } = useAction()
  const search = useItemSearch<MemberOrder>('email')
  const path = { role_id: role.id }
  const list = usePagedList(['roles', role.id, 'members', search.query], (cursor) =>
    read(api.GET('/api/v1/roles/{role_id}/users', { params: { path, query: { ...search.query, limit: 100, ...(cursor && { cursor }) } } })),
  )
  const change = async (userId: string, add: boolean) => {
    const at = { params: { path: { user_id: userId, role_id: role.id } } }
    await read(add ? api.PUT('/api/v1/users/{user_id}/roles/{role_id}', at) : api.DELETE('/api/v1/users/{user_id}/roles/{role_id}', at))
    await Promise.all([queries.invalidateQueries({ queryKey: ['roles'] }), queries.invalidateQueries({ queryKey: ['users'] })])
  }
  const set = (id: string, email: string, add: boolean) =>
    run(async () => {
      await change(id, add)
      showToast(add ? roles.memberAdded(email) : roles.memberRemoved(email), () => change(id, !add))
    })
  const has = new Set(list.rows.map((user) => user.id))
  return (
    <Section title={roles.tabs.members} help={roles.membersHelp}>
      <FindBox
        label={roles.addMember}
        resource="users"
        find={async (q) => {
          const page = await read(api.GET('/api/v1/users', { params: { query: { q, limit: 20 } } }))
          return page.items
            .filter((user) => !has.has(user.id))
            .map((user) => ({ id: user.id, text: user.email, detail: user.name }))
        }}
        onChoose={({ id, text }) => void set(id, text, true)}
      />
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ItemTools
        label={users.search}
        search={search}
        list={list}
        orders={[
          ['email', roles.memberOrders.email],
          ['-email', roles.memberOrders.emailDown],
          ['name', roles.memberOrders.name],
        ]}
      />
      <PagedItems
        label={roles.tabs.members}
        list={list}
        itemKey={(user) => user.id}
        title={(user) => user.email}
        detail={(user) => user.name}
        end={(user) => <IconButton icon={X} label={roles.takeAway(user.email)} onPress={() => void set(user.id, user.email, false)} />}
        empty={search.words ? common.nothingMatches(search.words) : roles.noMembers}
      />
    </Section>
  )
}
