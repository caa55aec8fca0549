import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaIdentityProviderView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { ProviderOfFile, StoredProvider } from './ProviderPanel.tsx'
import type { IdentitySearch } from './route.ts'

/** The identity providers of the deployment: those of the file, and those that operators have stored. */
export function ProviderList({ search, onAdd }: { search: IdentitySearch; onAdd: () => void }) {
  const messages = useMessages()
  const { identity } = messages
  const { q } = search
  const { onSearch } = useListSearch()
  const list = usePagedList(['identity-providers', 'list', { q }], (cursor) =>
    read(api.GET('/api/v1/deployment/identity-providers', { params: { query: { limit: 100, ...(q && { q }), ...(cursor && { cursor }) } } })),
  )
  const columns = useMemo(() => buildColumns(messages), [messages])
  const ofFile = search.from && list.rows.find(({ id, source }) => source === 'file' && id === search.id)
  return (
    <>
      <p>{identity.providersHelp}</p>
      <ListTools>
        <SearchBox label={identity.search} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={identity.views.providers}
        columns={columns}
        list={list}
        rowKey={({ id, source }) => `${source} ${id}`}
        rowSearch={openProvider}
        empty={
          q ? (
            <NothingMatches words={q} onClear={() => onSearch('')} />
          ) : (
            <Empty title={identity.emptyTitle} text={identity.emptyText}>
              <Button onPress={onAdd}>{identity.add}</Button>
            </Empty>
          )
        }
      />
      {ofFile && <ProviderOfFile provider={ofFile} />}
      {search.id && !search.from && <StoredProvider key={search.id} id={search.id} asks={search.dialog === 'remove'} />}
    </>
  )
}

const openProvider = ({ id, source }: SchemaIdentityProviderView): Record<string, string> =>
  source === 'file' ? { id, from: 'file' } : { id }

export function ProviderState({ provider }: { provider: SchemaIdentityProviderView }) {
  const { identity } = useMessages()
  return <StatusBadge tone={provider.in_use ? 'ok' : 'warn'} text={provider.in_use ? identity.inUse : identity.hidden} />
}

function buildColumns({ identity, trials }: Messages): Column<SchemaIdentityProviderView>[] {
  const { columns } = identity
  return [
    { id: 'provider', header: columns.provider, width: 'minmax(0, 2fr)', cell: ({ label }) => label },
    { id: 'id', header: columns.id, width: 'minmax(0, 1fr)', cell: ({ id }) => id },
    { id: 'kind', header: columns.kind, width: '10rem', cell: ({ kind }) => identity.kinds[kind] },
    { id: 'source', header: columns.source, width: '8rem', cell: ({ source }) => trials.sources[source] },
    {
      id: 'state',
      header: columns.state,
      width: '10rem',
      narrow: true,
      cell: (provider) => <ProviderState provider={provider} />,
    },
  ]
}
