interface Page<Item> {
  items: Item[]
  next_cursor: string | null
}

const LARGEST_PAGE = 200
/** Ten thousand of anything, which is what lists are made for. */
const MOST_PAGES = 50

/** Everything that a list of the API has, for what is chosen from or looked up in as a whole. */
export async function readAll<Item>(
  fetchPage: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  for (let count = 0; count < MOST_PAGES; count++) {
    const page: Page<Item> = await fetchPage({ limit: LARGEST_PAGE, ...(cursor && { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
    if (!cursor) break
  }
  return items
}
