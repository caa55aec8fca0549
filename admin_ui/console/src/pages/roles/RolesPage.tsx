import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { lazy, Suspense, useCallback, useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches, Skeleton } from '../../components/States.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import { RoleForm } from './RoleForm.tsx'
import { RolePanel } from './RolePanel.tsx'
import { ROLE_SORTS, type RolesSearch, rolesRoute } from './route.ts'

type SortKey = (typeof ROLE_SORTS)[number]

const HIGHEST_FIRST: Sort<SortKey> = { key: 'priority', descending: true }
const OF_DIALOG = ['dialog'] as const

// Dragging is a fifth of what the page loads otherwise.
const RoleOrder = lazy(() => import('./RoleOrder.tsx').then((module) => ({ default: module.RoleOrder })))

/** The roles of the tenant. */
export function RolesPage() {
  const { roles } = useMessages()
  const search = rolesRoute.useSearch()
  const { open, close } = useOverlay(OF_DIALOG)
  const add = () => open({ dialog: 'new' })
  useShortcut('n', roles.add, add)
  return (
    <>
      <PageHead title={roles.title}>
        <Button kind="primary" icon={Plus} onPress={add}>
          {roles.add}
        </Button>
      </PageHead>
      <ViewLinks
        label={roles.title}
        selected={search.view ?? 'list'}
        views={(['list', 'order'] as const).map((view) => ({ view, label: roles.views[view] }))}
      />
      {search.view === 'order' ? (
        <Suspense fallback={<Skeleton lines={8} />}>
          <RoleOrder />
        </Suspense>
      ) : (
        <RoleList search={search} onAdd={add} />
      )}
      {search.id && <RolePanel key={search.id} id={search.id} search={search} />}
      {search.dialog === 'new' && <RoleForm onClose={close} />}
    </>
  )
}

function RoleList({ search, onAdd }: { search: RolesSearch; onAdd: () => void }) {
  const { roles } = useMessages()
  const format = useFormat()
  const navigate = useNavigate({ from: '/roles' })
  const { q } = search
  const sort = readSort(search.sort, ROLE_SORTS) ?? HIGHEST_FIRST
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['roles', 'list', { q, order }], (cursor) =>
    read(api.GET('/api/v1/roles', { params: { query: { ...(q && { q }), sort: order, limit: 100, ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(roles, format.number), [roles, format])
  const onSearch = useCallback(
    (text: string) => void navigate({ search: (before) => ({ ...before, q: text || undefined }), replace: true }),
    [navigate],
  )
  return (
    <>
      <ListTools>
        <SearchBox label={roles.search} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={roles.title}
        columns={columns}
        list={list}
        rowKey={(role) => role.id}
        rowSearch={openRole}
        sort={sort}
        onSort={(next) => void navigate({ search: (before) => ({ ...before, sort: writeSort(next) }) })}
        empty={
          q ? (
            <NothingMatches words={q} onClear={() => onSearch('')} />
          ) : (
            <Empty title={roles.emptyTitle} text={roles.emptyText}>
              <Button onPress={onAdd}>{roles.add}</Button>
            </Empty>
          )
        }
      />
    </>
  )
}

const openRole = (role: SchemaRoleView) => ({ id: role.id, tab: 'permissions' })

function buildColumns(roles: Messages['roles'], number: (value: number) => string): Column<SchemaRoleView, SortKey>[] {
  return [
    { id: 'name', header: roles.columns.name, width: 'minmax(0, 2fr)', sort: 'name', cell: (role) => role.name },
    { id: 'priority', header: roles.columns.priority, width: '7rem', sort: 'priority', cell: (role) => number(role.priority) },
    { id: 'members', header: roles.columns.members, width: '7rem', narrow: 'labelled', cell: (role) => number(role.members) },
    {
      id: 'permissions',
      header: roles.columns.permissions,
      width: 'minmax(0, 2fr)',
      cell: (role) => describePermissions(roles, role),
    },
  ]
}

function describePermissions(roles: Messages['roles'], { allow, deny }: SchemaRoleView): string {
  if (allow.length === 0) return roles.nothing
  if (allow.includes('*') && deny.length === 0) return roles.everything
  const count = allow.length + deny.length
  return count > 3 ? roles.permissionCount(count) : [...allow, ...deny.map((one) => `−${one}`)].join(', ')
}
