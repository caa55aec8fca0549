import { useEffect, useEffectEvent, useState } from 'react'
import type { PagedList } from '../../components/usePagedList.ts'
import type { LogFilters } from './filters.ts'
import { PAGE } from './queries.ts'

export interface SearchOn {
  /** It goes on by itself. */
  isSearching: boolean
  /** Somebody has stopped it. */
  isStopped: boolean
  stop: () => void
  goOn: () => void
}

/** Goes on with a search that found less than a page, until it has one, or the log ends, or somebody stops it. */
export function useSearchOn<Row>(list: PagedList<Row>, filters: LogFilters): SearchOn {
  const [stopped, setStopped] = useState<LogFilters | null>(null)
  const isUnfinished = list.searchedBackTo !== null && list.hasMore && list.rows.length < PAGE
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
