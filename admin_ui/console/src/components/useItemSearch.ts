import { useState } from 'react'

export interface ItemSearch<Order extends string> {
  words: string
  onSearch: (words: string) => void
  order: Order
  onOrder: (order: Order) => void
  /** What the API is asked with. */
  query: { q?: string; sort: Order }
}

/** Words and order of a list in a card or a panel. They are not in the address, which has those of the page. */
export function useItemSearch<Order extends string>(first: Order): ItemSearch<Order> {
  const [words, onSearch] = useState('')
  const [order, onOrder] = useState<Order>(first)
  return { words, onSearch, order, onOrder, query: { ...(words && { q: words }), sort: order } }
}
