import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaClientView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { ClientPanel } from './ClientPanel.tsx'
import { CLIENT_SORTS, type ClientsSearch } from './route.ts'

type SortKey = (typeof CLIENT_SORTS)[number]

const DEFAULT_ORDER: Sort<SortKey> = { key: 'created_at', descending: true }

/** The clients that administrators have registered. */
export function RegisteredClients({ search }: { search: ClientsSearch }) {
  const { oauthClients } = useMessages()
  const { q } = search
  const { onSearch, onSort } = useListSearch()
  const sort = readSort(search.sort, CLIENT_SORTS) ?? DEFAULT_ORDER
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['clients', 'list', { q, order }], (cursor) => {
    const query = { ...(q && { q }), sort: order, limit: 100, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/oauth/clients', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(oauthClients), [oauthClients])
  return (
    <>
      <p>{oauthClients.registeredHelp}</p>
      <ListTools>
        <SearchBox label={oauthClients.search.registered} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={oauthClients.registered}
        columns={columns}
        list={list}
        rowKey={(client) => client.id}
        rowSearch={openClient}
        sort={sort}
        onSort={onSort}
        empty={q ? <NothingMatches words={q} onClear={() => onSearch('')} /> : <Empty title={oauthClients.registeredEmptyTitle} text={oauthClients.registeredEmptyText} />}
      />
      {search.id && <ClientPanel key={search.id} id={search.id} asks={search.dialog === 'remove'} />}
    </>
  )
}

const openClient = (client: SchemaClientView) => ({ id: client.id })

export function ClientState({ client }: { client: SchemaClientView }) {
  const { oauthClients } = useMessages()
  return client.disabled_at ? (
    <StatusBadge tone="warn" text={oauthClients.disabled} />
  ) : (
    <StatusBadge tone="ok" text={oauthClients.enabled} />
  )
}

function buildColumns({ columns }: Messages['oauthClients']): Column<SchemaClientView, SortKey>[] {
  return [
    { id: 'client', header: columns.client, width: 'minmax(0, 2fr)', sort: 'name', cell: (client) => client.name },
    { id: 'state', header: columns.state, width: '8rem', narrow: true, cell: (client) => <ClientState client={client} /> },
    { id: 'scopes', header: columns.scopes, width: 'minmax(0, 2fr)', cell: (client) => client.scopes.join(' ') },
    { id: 'person', header: columns.person, width: 'minmax(0, 1.5fr)', cell: (client) => client.user_email || '–' },
    { id: 'made', header: columns.made, width: '9rem', sort: 'created_at', cell: (client) => <Time at={client.created_at} /> },
  ]
}
