import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

interface Page<Row> {
  items: Row[]
  next_cursor: string | null
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
  loadMore: () => void
  retry: () => void
}

/** A list of the API, a page at a time as it is scrolled. The key holds the filters: another key is another list. */
export function usePagedList<Row>(key: QueryKey, fetchPage: (cursor: string | undefined) => Promise<Page<Row>>): PagedList<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<Row>) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data])
  return {
    rows,
    isLoading: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    isStale: query.isPlaceholderData,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
    },
    retry: () => void query.refetch(),
  }
}
