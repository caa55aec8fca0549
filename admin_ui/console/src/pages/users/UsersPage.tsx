import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaUserView } from '../../api/schema.d.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { Empty } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'

export function UsersPage() {
  const { users } = useMessages()
  const list = usePagedList(['users'], (cursor) =>
    read(api.GET('/api/v1/users', { params: { query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(users), [users])
  return (
    <>
      <PageHead title={users.title} />
      <DataTable
        label={users.title}
        columns={columns}
        list={list}
        rowKey={(user) => user.id}
        rowSearch={openUser}
        empty={<Empty title={users.emptyTitle} text={users.emptyText} />}
      />
    </>
  )
}

const openUser = (user: SchemaUserView) => ({ id: user.id })

function buildColumns(users: Messages['users']): Column<SchemaUserView>[] {
  return [
    { id: 'person', header: users.columns.person, width: 'minmax(0, 2fr)', cell: (user) => user.name || user.email },
    {
      id: 'status',
      header: users.columns.status,
      width: '8rem',
      narrow: true,
      cell: (user) => (
        <StatusBadge tone={user.status === 'active' ? 'ok' : 'none'} text={users.statuses[user.status]} />
      ),
    },
    { id: 'system-role', header: users.columns.systemRole, width: '9rem', cell: (user) => users.systemRoles[user.system_role] },
    { id: 'roles', header: users.columns.roles, width: 'minmax(0, 1fr)', cell: (user) => user.roles.join(', ') },
    { id: 'created', header: users.columns.created, width: '9rem', cell: (user) => <Time at={user.created_at} /> },
  ]
}
