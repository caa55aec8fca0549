import { useCallback } from 'react'
import { useMessages } from '../../messages/index.tsx'

/** As many as activity.module.css has. */
const COLORS = 4

/** The number of each source's color, in the order in which they are listed. */
export function listSources(sources: readonly { source: string }[]): ReadonlyMap<string, number> {
  return new Map([...new Set(sources.map(({ source }) => source))].map((source, place) => [source, place % COLORS]))
}

/** A source for people; one that is not known keeps its own name. */
export function useSourceName(): (source: string) => string {
  const { sources } = useMessages().activity
  return useCallback((source: string) => sources[source] ?? source, [sources])
}
