import { useMessages } from '../messages/index.tsx'
import { SelectField } from './Field.tsx'
import { ListTools, SearchBox } from './ListTools.tsx'
import type { PagedList } from './usePagedList.ts'
import type { ItemSearch } from './useItemSearch.ts'

interface ItemToolsProps<Order extends string> {
  /** Of the search. */
  label: string
  search: ItemSearch<Order>
  /** In a list of one, nothing is searched. */
  list: PagedList<unknown>
  /** What the list can be ordered by. */
  orders: readonly (readonly [order: Order, label: string])[]
}

/** Search and order above a list in a card or a panel. */
export function ItemTools<Order extends string>({ label, search, list, orders }: ItemToolsProps<Order>) {
  const { common } = useMessages()
  if (!search.words && !list.isStale && list.rows.length < 2) return null
  return (
    <ListTools>
      <SearchBox label={label} value={search.words || undefined} onSearch={search.onSearch} />
      <SelectField
        label={common.order}
        hideLabel
        value={search.order}
        choices={orders.map(([value, text]) => ({ value, label: text }))}
        onChange={search.onOrder}
      />
    </ListTools>
  )
}
