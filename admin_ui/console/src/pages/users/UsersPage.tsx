import { useNavigate } from '@tanstack/react-router'
import { KeyRound, UserPlus } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaUserView } from '../../api/schema.d.ts'
import { readSort, writeSort } from '../../app/search.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { SelectField } from '../../components/Field.tsx'
import { FilterPills, ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { AllowList } from './AllowList.tsx'
import { InviteForm } from './InviteForm.tsx'
import { STATUSES, SYSTEM_ROLES, USER_SORTS, type UsersSearch, usersRoute } from './route.ts'
import { UserPanel } from './UserPanel.tsx'

type SortKey = (typeof USER_SORTS)[number]

const NO_FILTERS = { q: undefined, status: undefined, system_role: undefined } satisfies UsersSearch
const OF_DIALOG = ['dialog'] as const

/** The people of the tenant. */
export function UsersPage() {
  const { users } = useMessages()
  const search = usersRoute.useSearch()
  const { open, close } = useOverlay(OF_DIALOG)
  useShortcut('n', users.invite, () => open({ dialog: 'invite' }))
  return (
    <>
      <PageHead title={users.title}>
        <div>
          <Button kind="quiet" icon={KeyRound} onPress={() => open({ dialog: 'allow-list' })}>
            {users.allowList}
          </Button>
          <Button kind="primary" icon={UserPlus} onPress={() => open({ dialog: 'invite' })}>
            {users.invite}
          </Button>
        </div>
      </PageHead>
      <UserList search={search} onInvite={() => open({ dialog: 'invite' })} />
      {search.id && <UserPanel key={search.id} id={search.id} tab={search.tab ?? 'general'} dialog={search.dialog} />}
      {search.dialog === 'invite' && <InviteForm onClose={close} />}
      {search.dialog === 'allow-list' && <AllowList onClose={close} />}
    </>
  )
}

function UserList({ search, onInvite }: { search: UsersSearch; onInvite: () => void }) {
  const { users } = useMessages()
  const navigate = useNavigate({ from: '/users' })
  const { q, status, system_role, sort } = search
  const filters = { q, status, system_role, sort: sort as `${'' | '-'}${SortKey}` | undefined }
  const list = usePagedList(['users', 'list', filters], (cursor) =>
    read(api.GET('/api/v1/users', { params: { query: { ...dropUnset(filters), limit: 100, ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(users), [users])
  const filter = useCallback(
    (next: UsersSearch, replace = false) =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: true }),
    [navigate],
  )
  const onSearch = useCallback((text: string) => filter({ q: text || undefined }, true), [filter])
  const filtered = Boolean(q || status || system_role)
  return (
    <>
      <ListTools>
        <SearchBox label={users.search} value={q} onSearch={onSearch} />
        <SelectField
          label={users.columns.status}
          hideLabel
          value={status ?? 'any'}
          choices={[{ value: 'any', label: users.anyStatus }, ...STATUSES.map((value) => ({ value, label: users.statuses[value] }))]}
          onChange={(value) => filter({ status: value === 'any' ? undefined : value })}
        />
        <SelectField
          label={users.columns.systemRole}
          hideLabel
          value={system_role ?? 'any'}
          choices={[
            { value: 'any', label: users.anySystemRole },
            ...SYSTEM_ROLES.map((value) => ({ value, label: users.systemRoles[value] })),
          ]}
          onChange={(value) => filter({ system_role: value === 'any' ? undefined : value })}
        />
      </ListTools>
      <FilterPills pills={listPills(search, users, filter)} onClear={() => filter(NO_FILTERS)} />
      <DataTable
        label={users.title}
        columns={columns}
        list={list}
        rowKey={(user) => user.id}
        rowSearch={openUser}
        sort={readSort(sort, USER_SORTS) ?? { key: 'email', descending: false }}
        onSort={(next) => filter({ sort: writeSort(next) })}
        empty={
          filtered ? (
            <NothingMatches words={q} onClear={() => filter(NO_FILTERS)} />
          ) : (
            <Empty title={users.emptyTitle} text={users.emptyText}>
              <Button onPress={onInvite}>{users.invite}</Button>
            </Empty>
          )
        }
      />
    </>
  )
}

function listPills(search: UsersSearch, users: Messages['users'], filter: (next: UsersSearch) => void) {
  const { status, system_role } = search
  return [
    ...(status ? [{ label: users.statuses[status], onRemove: () => filter({ status: undefined }) }] : []),
    ...(system_role ? [{ label: users.systemRoles[system_role], onRemove: () => filter({ system_role: undefined }) }] : []),
  ]
}

function dropUnset<Values extends object>(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values
}

const openUser = (user: SchemaUserView) => ({ id: user.id })

function buildColumns(users: Messages['users']): Column<SchemaUserView, SortKey>[] {
  return [
    { id: 'email', header: users.form.email, width: 'minmax(0, 2fr)', sort: 'email', cell: (user) => user.email },
    { id: 'name', header: users.form.name, width: 'minmax(0, 1.5fr)', sort: 'name', cell: (user) => user.name },
    {
      id: 'status',
      header: users.columns.status,
      width: '7.5rem',
      narrow: true,
      cell: (user) => (
        <StatusBadge tone={user.status === 'active' ? 'ok' : 'warn'} text={users.statuses[user.status]} />
      ),
    },
    { id: 'system-role', header: users.columns.systemRole, width: '8rem', cell: (user) => users.systemRoles[user.system_role] },
    { id: 'roles', header: users.columns.roles, width: 'minmax(0, 1.5fr)', cell: (user) => user.roles.join(', ') },
    {
      id: 'created',
      header: users.columns.created,
      width: '8rem',
      sort: 'created_at',
      cell: (user) => <Time at={user.created_at} />,
    },
  ]
}
