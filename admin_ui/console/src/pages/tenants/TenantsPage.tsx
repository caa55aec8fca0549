import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaTenantView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { SelectField } from '../../components/Field.tsx'
import { FilterPills, ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { AddTenant } from './AddTenant.tsx'
import { STATUSES, TENANT_SORTS, type TenantsSearch, tenantsRoute } from './route.ts'
import { TenantPanel } from './TenantPanel.tsx'

type SortKey = (typeof TENANT_SORTS)[number]

const BY_SLUG: Sort<SortKey> = { key: 'slug', descending: false }
const NO_FILTERS = { q: undefined, status: undefined } satisfies TenantsSearch
const OF_DIALOG = ['dialog'] as const

/** The companies that share the deployment; for its operator. */
export function TenantsPage() {
  const { tenants } = useMessages()
  const search = tenantsRoute.useSearch()
  const { open, close } = useOverlay(OF_DIALOG)
  const add = () => open({ dialog: 'new' })
  useShortcut('n', tenants.add, add)
  return (
    <>
      <PageHead title={tenants.title}>
        <Button kind="primary" icon={Plus} onPress={add}>
          {tenants.add}
        </Button>
      </PageHead>
      <p>{tenants.help}</p>
      <TenantList search={search} />
      {search.id && <TenantPanel key={search.id} id={search.id} dialog={search.dialog} />}
      {search.dialog === 'new' && <AddTenant onClose={close} />}
    </>
  )
}

function TenantList({ search }: { search: TenantsSearch }) {
  const { tenants } = useMessages()
  const navigate = useNavigate({ from: '/tenants' })
  const { q, status } = search
  const sort = readSort(search.sort, TENANT_SORTS) ?? BY_SLUG
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['tenants', 'list', { q, status, order }], (cursor) => {
    const query = { ...(q && { q }), ...(status && { status }), ...(cursor && { cursor }), sort: order, limit: 100 }
    return read(api.GET('/api/v1/tenants', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(tenants), [tenants])
  const filter = useCallback(
    (next: TenantsSearch, replace = false) => void navigate({ search: (before) => ({ ...before, ...next }), replace }),
    [navigate],
  )
  const onSearch = useCallback((text: string) => filter({ q: text || undefined }, true), [filter])
  const pills = status ? [{ label: tenants.statuses[status], onRemove: () => filter({ status: undefined }) }] : []
  return (
    <>
      <ListTools>
        <SearchBox label={tenants.search} value={q} onSearch={onSearch} />
        <SelectField
          label={tenants.columns.status}
          hideLabel
          value={status ?? 'any'}
          choices={[{ value: 'any', label: tenants.anyStatus }, ...STATUSES.map((value) => ({ value, label: tenants.statuses[value] }))]}
          onChange={(value) => filter({ status: value === 'any' ? undefined : value })}
        />
      </ListTools>
      <FilterPills pills={pills} onClear={() => filter(NO_FILTERS)} />
      <DataTable
        label={tenants.title}
        columns={columns}
        list={list}
        rowKey={(tenant) => tenant.id}
        rowSearch={openTenant}
        sort={sort}
        onSort={(next) => filter({ sort: writeSort(next) })}
        empty={
          q || status ? (
            <NothingMatches words={q} onClear={() => filter(NO_FILTERS)} />
          ) : (
            <Empty title={tenants.emptyTitle} />
          )
        }
      />
    </>
  )
}

const openTenant = (tenant: SchemaTenantView) => ({ id: tenant.id })

export function TenantStatus({ tenant }: { tenant: SchemaTenantView }) {
  const { tenants } = useMessages()
  return <StatusBadge tone={tenant.status === 'active' ? 'ok' : 'warn'} text={tenants.statuses[tenant.status]} />
}

function buildColumns({ columns }: Messages['tenants']): Column<SchemaTenantView, SortKey>[] {
  return [
    { id: 'name', header: columns.name, width: 'minmax(0, 2fr)', sort: 'name', cell: (tenant) => tenant.name },
    { id: 'slug', header: columns.slug, width: 'minmax(0, 1fr)', sort: 'slug', cell: (tenant) => tenant.slug },
    { id: 'status', header: columns.status, width: '8rem', narrow: true, cell: (tenant) => <TenantStatus tenant={tenant} /> },
  ]
}
