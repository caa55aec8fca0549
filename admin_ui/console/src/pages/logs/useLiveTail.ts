import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { SchemaAuditItemView } from '../../api/schema.d.ts'
import { useHints } from '../../app/live.ts'
import type { LogFilters } from './filters.ts'
import { fetchLogPage, putNewest } from './queries.ts'

/** At most one request in this time, however much happens. */
const PAUSE_MS = 1_000
/** Further down, somebody reads: new rows would move what they look at. */
const READING_PX = 120

const NOTHING: SchemaAuditItemView[] = []

export interface LiveTail {
  /** New entries that wait, because the person reads further down. */
  waiting: number
  show: () => void
}

/** Fetches the newest entries whenever something has happened, for as long as the page is live. */
export function useLiveTail(filters: LogFilters, shown: readonly SchemaAuditItemView[], isLive: boolean): LiveTail {
  const queries = useQueryClient()
  const [held, setHeld] = useState<{ of: LogFilters; items: SchemaAuditItemView[] } | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const fetchNewest = async () => {
    timer.current = undefined
    const page = await fetchLogPage(filters).catch(() => null) // the next hint tries again
    if (!page) return
    if (window.scrollY > READING_PX) return setHeld({ of: filters, items: page.items })
    setHeld(null)
    putNewest(queries, filters, page.items)
  }
  useHints(() => {
    if (isLive) timer.current ??= setTimeout(() => void fetchNewest(), PAUSE_MS)
  })
  useEffect(() => {
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [isLive, filters])
  const items = isLive && held?.of === filters ? held.items : NOTHING
  const known = new Set(shown.map((item) => item.seq))
  const show = useCallback(() => {
    setHeld(null)
    putNewest(queries, filters, items)
    window.scrollTo({ top: 0 })
  }, [queries, filters, items])
  return { waiting: items.filter((item) => !known.has(item.seq)).length, show }
}
