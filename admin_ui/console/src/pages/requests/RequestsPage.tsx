import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaAccessRequestView } from '../../api/schema.d.ts'
import { readSort, writeSort } from '../../app/search.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { SelectField } from '../../components/Field.tsx'
import { KindTag } from '../../components/KindTag.tsx'
import { FilterPills, ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { ApproveButton } from './ApproveButton.tsx'
import { RequestBadge } from './RequestBadge.tsx'
import { RequestPanel } from './RequestPanel.tsx'
import { REQUEST_SORTS, REQUEST_STATES, requestsRoute, type RequestsSearch } from './route.ts'

const NEWEST_FIRST = { key: 'created_at', descending: true } as const

/** What people ask for, for administrators: the open requests unless another state is chosen. */
export function RequestsPage() {
  const { requests } = useMessages()
  const { state = 'open', q, sort: written, id } = requestsRoute.useSearch()
  const sort = readSort(written, REQUEST_SORTS) ?? NEWEST_FIRST
  const order = writeSort(sort) as `${'' | '-'}created_at`
  const navigate = useNavigate({ from: '/requests' })
  const { onSearch, onSort } = useListSearch()
  const list = usePagedList(['access-requests', 'list', { state, q, order }], (cursor) => {
    const chosen = { ...(state !== 'any' && { state }), ...(q && { q }), ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/access-requests', { params: { query: { all_owners: true, limit: 100, sort: order, ...chosen } } }))
  })
  const columns = useMemo(() => buildColumns(requests), [requests])
  const filter = useCallback(
    (next: RequestsSearch['state']) =>
      void navigate({ search: (before) => ({ ...before, state: next === 'open' ? undefined : next }) }),
    [navigate],
  )
  return (
    <>
      <PageHead title={requests.title} />
      <ListTools>
        <SearchBox label={requests.search} value={q} onSearch={onSearch} />
        <SelectField
          label={requests.columns.state}
          hideLabel
          value={state}
          choices={[
            ...REQUEST_STATES.map((value) => ({ value, label: requests.states[value] })),
            { value: 'any', label: requests.anyState } as const,
          ]}
          onChange={filter}
        />
      </ListTools>
      <FilterPills
        pills={state === 'open' || state === 'any' ? [] : [{ label: requests.states[state], onRemove: () => filter('open') }]}
        onClear={() => filter('open')}
      />
      <DataTable
        label={requests.title}
        columns={columns}
        list={list}
        rowKey={(request) => request.id}
        rowSearch={openRequest}
        sort={sort}
        onSort={onSort}
        empty={
          q ? (
            <NothingMatches words={q} onClear={() => onSearch('')} />
          ) : state === 'open' ? (
            <Empty title={requests.emptyTitle} text={requests.emptyText} />
          ) : (
            <Empty title={requests.noneInState} />
          )
        }
      />
      {id && <RequestPanel key={id} id={id} />}
    </>
  )
}

const openRequest = (request: SchemaAccessRequestView) => ({ id: request.id })

function buildColumns(requests: Messages['requests']): Column<SchemaAccessRequestView, 'created_at'>[] {
  return [
    { id: 'person', header: requests.columns.person, width: 'minmax(0, 1.5fr)', cell: (request) => request.email },
    {
      id: 'tool',
      header: requests.columns.tool,
      width: 'minmax(0, 2fr)',
      narrow: true,
      cell: (request) => (
        <>
          {request.kind && <KindTag kind={request.kind} />} <code>{nameTarget(request)}</code>
        </>
      ),
    },
    { id: 'message', header: requests.columns.message, width: 'minmax(0, 2fr)', cell: (request) => request.message },
    {
      id: 'state',
      header: requests.columns.state,
      width: '8rem',
      cell: (request) => <RequestBadge state={request.state} />,
    },
    { id: 'created', header: requests.columns.created, width: '8rem', sort: 'created_at', cell: (request) => <Time at={request.created_at} /> },
    {
      id: 'decide',
      header: requests.decide,
      width: '7rem',
      cell: (request) => request.state === 'open' && <ApproveButton request={request} />,
    },
  ]
}

/** `notion.search_pages`, or `notion.*` for the whole module. */
function nameTarget(request: SchemaAccessRequestView): string {
  return `${request.module}.${request.tool || '*'}`
}
