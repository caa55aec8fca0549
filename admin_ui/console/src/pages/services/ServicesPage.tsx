import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaTenantServiceView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { findConnectMethod } from '../../components/connectMethods.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { Localized } from '../../components/Localized.tsx'
import { ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { SetupBadge } from '../../components/SetupBadge.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useConnectSetup } from '../../components/useConnectSetup.ts'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import { ProvidersView } from './ProvidersView.tsx'
import { SERVICE_SORTS, type ServicesSearch, servicesRoute } from './route.ts'
import { ServicePanel } from './ServicePanel.tsx'
import { ServiceViews } from './ServiceViews.tsx'

type SortKey = (typeof SERVICE_SORTS)[number]

const BY_TITLE: Sort<SortKey> = { key: 'title', descending: false }

/** The services of the tenant, and the providers that their accounts are connected by. */
export function ServicesPage() {
  const { services } = useMessages()
  const search = servicesRoute.useSearch()
  if (search.view === 'providers') return <ProvidersView search={search} />
  return (
    <>
      <PageHead title={services.title} />
      <ServiceViews selected="services" />
      <ServiceList search={search} />
      {search.id && <ServicePanel key={search.id} module={search.id} search={search} />}
    </>
  )
}

function ServiceList({ search }: { search: ServicesSearch }) {
  const { services } = useMessages()
  const format = useFormat()
  const { q } = search
  const { onSearch, onSort } = useListSearch()
  const sort = readSort(search.sort, SERVICE_SORTS) ?? BY_TITLE
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['services', 'list', { q, order }], (cursor) => {
    const query = { ...(q && { q }), sort: order, limit: 100, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/services', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(services, format.number), [services, format])
  return (
    <>
      <ListTools>
        <SearchBox label={services.search} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={services.title}
        columns={columns}
        list={list}
        rowKey={(service) => service.module}
        rowSearch={openService}
        sort={sort}
        onSort={onSort}
        empty={
          q ? (
            <NothingMatches words={q} onClear={() => onSearch('')} />
          ) : (
            <Empty title={services.emptyTitle} text={services.emptyText} />
          )
        }
      />
    </>
  )
}

const openService = (service: SchemaTenantServiceView) => ({ id: service.module })

export function ServiceState({ service }: { service: SchemaTenantServiceView }) {
  const { services } = useMessages()
  if (!service.installed) return <StatusBadge tone="warn" text={services.missing} />
  return <StatusBadge tone={service.enabled ? 'ok' : 'none'} text={service.enabled ? services.on : services.off} />
}

/** Whether people can connect accounts at a service, or what is missing for it. */
export function AccountState({ service }: { service: SchemaTenantServiceView }) {
  const { services } = useMessages()
  const { data } = useConnectSetup()
  if (!service.has_vendor) return <>{services.noAccounts}</>
  const method = data && findConnectMethod(service.module, data)
  return method ? <SetupBadge state={method} /> : <>{services.ownAccounts}</>
}

function buildColumns(services: Messages['services'], number: (value: number) => string): Column<SchemaTenantServiceView, SortKey>[] {
  const { columns } = services
  return [
    { id: 'service', header: columns.service, width: 'minmax(0, 2fr)', sort: 'title', cell: (service) => <Localized text={{ en: service.title, ja: service.title_ja }} /> },
    { id: 'state', header: columns.state, width: '9rem', sort: 'enabled', narrow: true, cell: (service) => <ServiceState service={service} /> },
    { id: 'tools', header: columns.tools, width: '6rem', cell: (service) => number(service.tool_count) },
    {
      id: 'accounts',
      header: columns.accounts,
      width: 'minmax(0, 1fr)',
      narrow: true,
      cell: (service) => <AccountState service={service} />,
    },
  ]
}
