import type { Query, QueryClient } from '@tanstack/react-query'
import type { Hint } from '../api/events.ts'
import { findChange } from '../api/ownChanges.ts'
import { listAffected } from './affected.ts'

/** Hints of this long are worked off together, and so long apart: a script may change a hundred things. */
export const GATHER_MS = 300
export const MIN_GAP_MS = 3_000

/**
 * Make what fetches again whatever hints make old: some of them together, and nothing while nobody looks. After a change
 * of its own the page has fetched what it shows of it already: only what it has not is fetched.
 */
export function makeRefetch(queries: QueryClient): (hint: Hint | 'everything') => void {
  const readBegin = watchFetches(queries)
  // By the first part of the key: what was fetched before that time is old.
  const oldBefore = new Map<string, number>()
  let all = false
  let last = -MIN_GAP_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  const refetch = () => {
    timer = undefined
    if (document.hidden) return
    const before = new Map(oldBefore)
    const everything = all
    last = performance.now()
    all = false
    oldBefore.clear()
    const isOld = (query: Query) => {
      const time = everything ? Infinity : before.get(String(query.queryKey[0]))
      return time !== undefined && (readBegin(query) < time || query.state.status === 'error')
    }
    void queries.invalidateQueries({ predicate: (query) => query.meta?.['fixed'] !== true && isOld(query) })
  }
  const schedule = () => {
    if (all || oldBefore.size > 0) timer ??= setTimeout(refetch, Math.max(GATHER_MS, last + MIN_GAP_MS - performance.now()))
  }
  document.addEventListener('visibilitychange', schedule)
  return (hint) => {
    if (hint === 'everything') all = true
    else markOld(oldBefore, hint)
    schedule()
  }
}

function markOld(oldBefore: Map<string, number>, hint: Hint): void {
  const time = findChange(hint.request_id) ?? Infinity
  for (const name of listAffected(hint.resource)) oldBefore.set(name, Math.max(time, oldBefore.get(name) ?? 0))
}

/** Watch when queries begin to be fetched; gives the time of a query's latest begin, 0 where none was seen. */
function watchFetches(queries: QueryClient): (query: Query) => number {
  const begun = new WeakMap<Query, number>()
  queries.getQueryCache().subscribe((event) => {
    if (event.type === 'updated' && event.action.type === 'fetch') begun.set(event.query, performance.now())
  })
  return (query) => begun.get(query) ?? 0
}
