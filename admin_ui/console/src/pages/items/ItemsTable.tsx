import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Checkbox, SelectField } from '../../components/Field.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { FilterPills, ListTools, SearchBox } from '../../components/ListTools.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import styles from './items.module.css'
import { PriorityMark } from './PriorityMark.tsx'
import { type ItemFilters, type ListedItem, readItems, statusesQuery, tagsQuery, typesQuery } from './queries.ts'
import { itemsRoute } from './route.ts'
import { useSetSearch } from './useItemsSearch.ts'
import { WorkspaceField } from './WorkspaceField.tsx'

const NO_FILTERS = { q: undefined, type: undefined, status: undefined, tag: undefined }

/** Items of a workspace, the newest change first, or found by words. */
export function ItemsTable() {
  const { items } = useMessages()
  const { workspace, q, type, status, tag, closed } = itemsRoute.useSearch()
  const set = useSetSearch()
  const filters: ItemFilters = { workspace, q, type, status, tag, closed: closed === '1' }
  const list = usePagedList(['items', 'list', filters], (cursor) => readItems(filters, cursor))
  const columns = useMemo(() => buildColumns(items), [items])
  const isFiltered = q ?? type ?? status ?? tag
  return (
    <>
      <Filters />
      <DataTable
        label={items.title}
        columns={columns}
        list={list}
        rowKey={(item) => item.key}
        rowSearch={openItem}
        empty={
          isFiltered ? (
            <NothingMatches words={q} onClear={() => set(NO_FILTERS)} />
          ) : closed ? (
            <Empty title={items.emptyTitle} text={items.emptyText} />
          ) : (
            <EmptyOrClosed />
          )
        }
      />
    </>
  )
}

/** No open item: perhaps there are closed ones. */
function EmptyOrClosed() {
  const { items } = useMessages()
  const { workspace } = itemsRoute.useSearch()
  const { data } = useQuery(typesQuery(workspace))
  return data && data.length > 0 ? (
    <Empty title={items.noOpenTitle} text={items.noOpenText} />
  ) : (
    <Empty title={items.emptyTitle} text={items.emptyText} />
  )
}

function Filters() {
  const { items } = useMessages()
  const { workspace, q, type, status, tag, closed } = itemsRoute.useSearch()
  const set = useSetSearch()
  const { onSearch } = useListSearch()
  const { data: types = [] } = useQuery(typesQuery(workspace))
  const { data: statuses = [] } = useQuery(statusesQuery(workspace))
  const { data: tags = [] } = useQuery(tagsQuery(workspace))
  const pills = [
    type && { label: items.onlyType(type), onRemove: () => set({ type: undefined }) },
    status && { label: items.onlyStatus(status), onRemove: () => set({ status: undefined }) },
    tag && { label: items.onlyTag(tag), onRemove: () => set({ tag: undefined }) },
  ].filter((pill) => typeof pill === 'object')
  return (
    <>
      <ListTools>
        <SearchBox label={items.search} value={q} onSearch={onSearch} />
        <WorkspaceField />
        <Choice label={items.fields.type} any={items.anyType} names={types} value={type} onChange={(name) => set({ type: name })} />
        <Choice
          label={items.fields.status}
          any={closed ? items.anyStatusAtAll : items.anyStatus}
          names={statuses}
          value={status}
          onChange={(name) => set({ status: name })}
        />
        <Choice label={items.fields.tags} any={items.anyTag} names={tags} value={tag} onChange={(name) => set({ tag: name })} />
        <Checkbox isSelected={closed === '1'} onChange={(on) => set({ closed: on ? '1' : undefined })}>
          {items.withClosed}
        </Checkbox>
      </ListTools>
      <FilterPills pills={pills} onClear={() => set(NO_FILTERS)} />
    </>
  )
}

interface ChoiceProps {
  label: string
  any: string
  names: readonly { name: string }[]
  value: string | undefined
  onChange: (name: string | undefined) => void
}

/** One of the names that there are; one that the address has is there, too. */
function Choice({ label, any, names, value, onChange }: ChoiceProps) {
  const known = names.map(({ name }) => name)
  const all = value === undefined || known.includes(value) ? known : [value, ...known]
  return (
    <SelectField
      label={label}
      hideLabel
      value={value ?? ''}
      choices={[{ value: '', label: any }, ...all.map((name) => ({ value: name, label: name }))]}
      onChange={(name) => onChange(name || undefined)}
    />
  )
}

const openItem = (item: ListedItem) => ({ id: item.key })

function buildColumns(items: Messages['items']): Column<ListedItem>[] {
  const { fields } = items
  return [
    { id: 'title', header: fields.title, width: 'minmax(0, 3fr)', cell: (item) => item.title },
    { id: 'key', header: fields.key, width: 'minmax(0, 1fr)', narrow: true, cell: (item) => item.key },
    { id: 'status', header: fields.status, width: 'minmax(0, 1fr)', narrow: true, cell: (item) => item.status },
    { id: 'priority', header: fields.priority, width: '7rem', narrow: true, cell: (item) => <PriorityMark priority={item.priority} /> },
    {
      id: 'tags',
      header: fields.tags,
      width: 'minmax(0, 1.4fr)',
      narrow: 'line',
      cell: (item) => <span className={styles.tags}>{item.tags.join(', ')}</span>,
    },
    { id: 'updated', header: fields.updated, width: '8rem', cell: (item) => <Time at={item.updated_at} /> },
  ]
}
