import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaTenantServiceView } from '../../api/schema.d.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { Empty } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import { ProvidersView } from './ProvidersView.tsx'
import { servicesRoute } from './route.ts'
import { ServicePanel } from './ServicePanel.tsx'
import { ServiceViews } from './ServiceViews.tsx'

/** The services of the tenant, and the providers that their accounts are connected by. */
export function ServicesPage() {
  const { services } = useMessages()
  const search = servicesRoute.useSearch()
  if (search.view === 'providers') return <ProvidersView search={search} />
  return (
    <>
      <PageHead title={services.title} />
      <ServiceViews selected="services" />
      <ServiceList />
      {search.id && <ServicePanel key={search.id} module={search.id} search={search} />}
    </>
  )
}

function ServiceList() {
  const { services } = useMessages()
  const format = useFormat()
  const list = usePagedList(['services', 'list'], (cursor) =>
    read(api.GET('/api/v1/services', { params: { query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(services, format.number), [services, format])
  return (
    <DataTable
      label={services.title}
      columns={columns}
      list={list}
      rowKey={(service) => service.module}
      rowSearch={openService}
      empty={<Empty title={services.emptyTitle} text={services.emptyText} />}
    />
  )
}

const openService = (service: SchemaTenantServiceView) => ({ id: service.module })

export function ServiceState({ service }: { service: SchemaTenantServiceView }) {
  const { services } = useMessages()
  if (!service.installed) return <StatusBadge tone="warn" text={services.missing} />
  return <StatusBadge tone={service.enabled ? 'ok' : 'none'} text={service.enabled ? services.on : services.off} />
}

function buildColumns(services: Messages['services'], number: (value: number) => string): Column<SchemaTenantServiceView>[] {
  const { columns } = services
  return [
    { id: 'service', header: columns.service, width: 'minmax(0, 2fr)', cell: (service) => service.title },
    { id: 'state', header: columns.state, width: '9rem', narrow: true, cell: (service) => <ServiceState service={service} /> },
    { id: 'tools', header: columns.tools, width: '6rem', cell: (service) => number(service.tool_count) },
    {
      id: 'accounts',
      header: columns.accounts,
      width: 'minmax(0, 1fr)',
      cell: (service) => (service.has_vendor ? services.ownAccounts : services.noAccounts),
    },
  ]
}
