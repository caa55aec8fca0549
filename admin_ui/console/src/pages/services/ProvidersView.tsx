import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaProviderView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { AddProvider } from './AddProvider.tsx'
import { ProviderPanel } from './ProviderPanel.tsx'
import { PROVIDER_SORTS, type ServicesSearch } from './route.ts'
import { ServiceViews } from './ServiceViews.tsx'

type SortKey = (typeof PROVIDER_SORTS)[number]

const BY_TITLE: Sort<SortKey> = { key: 'title', descending: false }
const OF_DIALOG = ['dialog'] as const

/** The OAuth servers of vendors: those of MCPist, and those that the tenant has added. */
export function ProvidersView({ search }: { search: ServicesSearch }) {
  const { services } = useMessages()
  const { providers } = services
  const { open, close } = useOverlay(OF_DIALOG)
  const add = () => open({ dialog: 'add-provider' })
  useShortcut('n', providers.add, add)
  return (
    <>
      <PageHead title={services.title}>
        <Button kind="primary" icon={Plus} onPress={add}>
          {providers.add}
        </Button>
      </PageHead>
      <ServiceViews selected="providers" />
      <p>{providers.help}</p>
      <ProviderList search={search} />
      {search.id && <ProviderPanel key={search.id} id={search.id} dialog={search.dialog} />}
      {search.dialog === 'add-provider' && <AddProvider onClose={close} />}
    </>
  )
}

function ProviderList({ search }: { search: ServicesSearch }) {
  const { services } = useMessages()
  const { providers } = services
  const { q } = search
  const { onSearch, onSort } = useListSearch()
  const sort = readSort(search.sort, PROVIDER_SORTS) ?? BY_TITLE
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['providers', 'list', { q, order }], (cursor) => {
    const query = { ...(q && { q }), sort: order, limit: 100, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/providers', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(providers), [providers])
  return (
    <>
      <ListTools>
        <SearchBox label={providers.search} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={providers.title}
        columns={columns}
        list={list}
        rowKey={(provider) => provider.id}
        rowSearch={openProvider}
        sort={sort}
        onSort={onSort}
        empty={q ? <NothingMatches words={q} onClear={() => onSearch('')} /> : <Empty title={providers.emptyTitle} />}
      />
    </>
  )
}

const openProvider = (provider: SchemaProviderView) => ({ id: provider.id })

function buildColumns(providers: Messages['services']['providers']): Column<SchemaProviderView, SortKey>[] {
  const { columns } = providers
  return [
    { id: 'provider', header: columns.provider, width: 'minmax(0, 2fr)', sort: 'title', cell: (provider) => provider.title },
    { id: 'origin', header: columns.origin, width: '10rem', sort: 'origin', cell: (provider) => providers.origins[provider.origin] },
    { id: 'services', header: columns.services, width: 'minmax(0, 2fr)', cell: (provider) => provider.modules.join(', ') },
    {
      id: 'state',
      header: columns.state,
      width: '10rem',
      narrow: true,
      cell: ({ problem }) => (
        <StatusBadge tone={problem ? 'bad' : 'ok'} text={problem ? providers.broken : providers.usable} />
      ),
    },
  ]
}
