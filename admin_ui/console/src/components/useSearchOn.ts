import { useEffect, useEffectEvent, useState } from 'react'
import type { PagedList } from './usePagedList.ts'

export interface SearchOn {
  /** It goes on by itself. */
  isSearching: boolean
  /** Somebody has stopped it. */
  isStopped: boolean
  stop: () => void
  goOn: () => void
}

/**
 * Goes on with a search of the audit log that found less than a page, until it has one, or the log ends, or somebody stops it.
 * `filters` is the same value as long as it is the same search.
 */
export function useSearchOn<Row, Filters>(list: PagedList<Row>, filters: Filters, page: number): SearchOn {
  const [stopped, setStopped] = useState<Filters | null>(null)
  const isUnfinished = list.searchedBackTo !== null && list.hasMore && list.rows.length < page
  const isStopped = isUnfinished && stopped === filters
  const isSearching = isUnfinished && !isStopped && !list.isStale && !list.error
  const loadMore = useEffectEvent(list.loadMore)
  useEffect(() => {
    if (isSearching && !list.isLoadingMore) loadMore()
  }, [isSearching, list.isLoadingMore, list.searchedBackTo])
  return {
    isSearching,
    isStopped,
    stop: () => setStopped(filters),
    goOn: () => {
      setStopped(null)
      list.loadMore()
    },
  }
}
