import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaGrantView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { type ClientsSearch, GRANT_SORTS } from './route.ts'

const OF_PANEL = ['id', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

type SortKey = (typeof GRANT_SORTS)[number]

const DEFAULT_ORDER: Sort<SortKey> = { key: 'last_used_at', descending: true }

/** The applications that people have let in. */
export function ConnectedClients({ search }: { search: ClientsSearch }) {
  const { oauthClients } = useMessages()
  const { q } = search
  const { onSearch, onSort } = useListSearch()
  const sort = readSort(search.sort, GRANT_SORTS) ?? DEFAULT_ORDER
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['grants', 'list', { q, order }], (cursor) => {
    const query = { ...(q && { q }), sort: order, all_owners: true, limit: 100, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/oauth/grants', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(oauthClients), [oauthClients])
  const opened = search.id && list.rows.find((grant) => grant.id === search.id)
  return (
    <>
      <p>{oauthClients.connectedHelp}</p>
      <ListTools>
        <SearchBox label={oauthClients.search.connected} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={oauthClients.connected}
        columns={columns}
        list={list}
        rowKey={(grant) => grant.id}
        rowSearch={openGrant}
        sort={sort}
        onSort={onSort}
        empty={q ? <NothingMatches words={q} onClear={() => onSearch('')} /> : <Empty title={oauthClients.connectedEmptyTitle} text={oauthClients.connectedEmptyText} />}
      />
      {opened && <GrantPanel grant={opened} asks={search.dialog === 'revoke'} />}
    </>
  )
}

const openGrant = (grant: SchemaGrantView) => ({ id: grant.id })
const nameGrant = (grant: SchemaGrantView) => grant.client_name || grant.client_id

function buildColumns({ columns }: Messages['oauthClients']): Column<SchemaGrantView, SortKey>[] {
  return [
    { id: 'client', header: columns.client, width: 'minmax(0, 2fr)', cell: nameGrant },
    { id: 'person', header: columns.person, width: 'minmax(0, 2fr)', narrow: true, cell: (grant) => grant.user_email },
    { id: 'scopes', header: columns.scopes, width: 'minmax(0, 1.5fr)', cell: (grant) => grant.scopes.join(' ') },
    { id: 'used', header: columns.used, width: '9rem', sort: 'last_used_at', cell: (grant) => <Time at={grant.last_used_at} /> },
  ]
}

function GrantPanel({ grant, asks }: { grant: SchemaGrantView; asks: boolean }) {
  const { oauthClients } = useMessages()
  const { columns } = oauthClients
  const queries = useQueryClient()
  const online = useOnline()
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  const revoke = async () => {
    await read(api.DELETE('/api/v1/oauth/grants/{grant_id}', { params: { path: { grant_id: grant.id } } }))
    clear()
    showToast(oauthClients.revoked(nameGrant(grant)))
    await queries.invalidateQueries({ queryKey: ['grants'] })
  }
  return (
    <>
      <DetailPanel title={nameGrant(grant)} subtitle={grant.user_email} onClose={close} padded>
        <Facts
          facts={[
            [oauthClients.clientId, grant.client_id],
            [columns.kind, oauthClients.grantKinds[grant.kind] ?? grant.kind],
            [columns.scopes, grant.scopes.join(' ')],
            [columns.made, <Time key="made" at={grant.created_at} />],
            [columns.used, <Time key="used" at={grant.last_used_at} />],
            [columns.ends, <Time key="ends" at={grant.expires_at} />],
          ]}
        />
        <Actions>
          <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'revoke' })}>
            {oauthClients.revoke}
          </Button>
        </Actions>
      </DetailPanel>
      {asks && (
        <ConfirmDestroy
          title={oauthClients.revokeTitle(nameGrant(grant), grant.user_email)}
          confirm={oauthClients.revoke}
          typed={nameGrant(grant)}
          onConfirm={revoke}
          onClose={closeDialog}
        >
          <p>{oauthClients.revokeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}
