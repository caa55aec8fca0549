import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { Empty } from '../../components/States.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'

export function RolesPage() {
  const { roles } = useMessages()
  const list = usePagedList(['roles'], (cursor) =>
    read(api.GET('/api/v1/roles', { params: { query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(roles), [roles])
  return (
    <>
      <PageHead title={roles.title} />
      <DataTable
        label={roles.title}
        columns={columns}
        list={list}
        rowKey={(role) => role.id}
        rowSearch={openRole}
        empty={<Empty title={roles.emptyTitle} text={roles.emptyText} />}
      />
    </>
  )
}

const openRole = (role: SchemaRoleView) => ({ id: role.id })

function buildColumns(roles: Messages['roles']): Column<SchemaRoleView>[] {
  return [
    { id: 'name', header: roles.columns.name, width: 'minmax(0, 2fr)', cell: (role) => role.name },
    { id: 'priority', header: roles.columns.priority, width: '7rem', cell: (role) => role.priority },
    { id: 'members', header: roles.columns.members, width: '7rem', narrow: true, cell: (role) => role.members },
    { id: 'permissions', header: roles.columns.permissions, width: 'minmax(0, 2fr)', cell: (role) => role.allow.join(', ') },
  ]
}
