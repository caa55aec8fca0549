import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

interface Page<Row> {
  items: Row[]
  next_cursor: string | null
  /** Where the search for a full page has ended early. */
  searched_back_to?: string | null
}

export interface PagedList<Row> {
  rows: readonly Row[]
  /** Nothing has come yet. */
  isLoading: boolean
  error: unknown
  hasMore: boolean
  isLoadingMore: boolean
  /** What is shown is that of the filters before; the new one is on its way. */
  isStale: boolean
  searchedBackTo: string | null
  loadMore: () => void
  retry: () => void
}

/**
 * A list of the API, a page at a time as it is scrolled. The key holds the filters: another key is another list.
 * `findInterval` says in how many milliseconds these rows are read again, besides when a change is told.
 */
export function usePagedList<Row>(
  key: QueryKey,
  fetchPage: (cursor: string | undefined) => Promise<Page<Row>>,
  findInterval?: (rows: readonly Row[]) => number | false,
): PagedList<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<Row>) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => (data && findInterval?.(data.pages.flatMap((page) => page.items))) ?? false,
  })
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data])
  return {
    rows,
    isLoading: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    isStale: query.isPlaceholderData,
    searchedBackTo: query.data?.pages.at(-1)?.searched_back_to ?? null,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
    },
    retry: () => void query.refetch(),
  }
}
