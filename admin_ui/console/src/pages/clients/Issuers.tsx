import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaIssuerView } from '../../api/schema.d.ts'
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
import { type ClientsSearch, ISSUER_SORTS } from './route.ts'

const OF_PANEL = ['id', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

type SortKey = (typeof ISSUER_SORTS)[number]

const DEFAULT_ORDER: Sort<SortKey> = { key: 'issuer', descending: false }

/** The identity providers whose assertions the tenant takes. */
export function Issuers({ search }: { search: ClientsSearch }) {
  const { oauthClients } = useMessages()
  const { q } = search
  const { onSearch, onSort } = useListSearch()
  const sort = readSort(search.sort, ISSUER_SORTS) ?? DEFAULT_ORDER
  const order = writeSort(sort) as `${'' | '-'}${SortKey}`
  const list = usePagedList(['issuers', 'list', { q, order }], (cursor) => {
    const query = { ...(q && { q }), sort: order, limit: 100, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/oauth/issuers', { params: { query } }))
  })
  const columns = useMemo(() => buildColumns(oauthClients), [oauthClients])
  const opened = search.id && list.rows.find(({ issuer }) => issuer === search.id)
  return (
    <>
      <p>{oauthClients.issuersHelp}</p>
      <ListTools>
        <SearchBox label={oauthClients.search.issuers} value={q} onSearch={onSearch} />
      </ListTools>
      <DataTable
        label={oauthClients.issuers}
        columns={columns}
        list={list}
        rowKey={({ issuer }) => issuer}
        rowSearch={openIssuer}
        sort={sort}
        onSort={onSort}
        empty={q ? <NothingMatches words={q} onClear={() => onSearch('')} /> : <Empty title={oauthClients.issuersEmptyTitle} text={oauthClients.issuersEmptyText} />}
      />
      {opened && <IssuerPanel trusted={opened} asks={search.dialog === 'distrust'} />}
    </>
  )
}

const openIssuer = ({ issuer }: SchemaIssuerView) => ({ id: issuer })

function buildColumns({ columns, issuer, jwks }: Messages['oauthClients']): Column<SchemaIssuerView, SortKey>[] {
  return [
    { id: 'issuer', header: issuer, width: 'minmax(0, 2fr)', sort: 'issuer', cell: (trusted) => trusted.issuer },
    { id: 'jwks', header: jwks, width: 'minmax(0, 2fr)', cell: (trusted) => trusted.jwks_uri },
    { id: 'made', header: columns.made, width: '9rem', sort: 'created_at', narrow: true, cell: (trusted) => <Time at={trusted.created_at} /> },
  ]
}

function IssuerPanel({ trusted, asks }: { trusted: SchemaIssuerView; asks: boolean }) {
  const { oauthClients } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  const { issuer } = trusted
  const distrust = async () => {
    await read(api.DELETE('/api/v1/oauth/issuers', { params: { query: { issuer } } }))
    clear()
    showToast(oauthClients.distrusted(issuer))
    await Promise.all([queries.invalidateQueries({ queryKey: ['issuers'] }), queries.invalidateQueries({ queryKey: ['grants'] })])
  }
  return (
    <>
      <DetailPanel title={issuer} onClose={close} padded>
        <Facts
          facts={[
            [oauthClients.jwks, trusted.jwks_uri],
            [oauthClients.columns.made, <Time key="made" at={trusted.created_at} />],
          ]}
        />
        <Actions>
          <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'distrust' })}>
            {oauthClients.distrust}
          </Button>
        </Actions>
      </DetailPanel>
      {asks && (
        <ConfirmDestroy
          title={oauthClients.distrustTitle(issuer)}
          confirm={oauthClients.distrust}
          typed={issuer}
          onConfirm={distrust}
          onClose={closeDialog}
        >
          <p>{oauthClients.distrustText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}
