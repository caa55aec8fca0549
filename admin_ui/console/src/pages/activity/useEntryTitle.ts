import { useCallback } from 'react'
import { useMessages } from '../../messages/index.tsx'
import type { ActivityEntry } from './queries.ts'

export const SLEEP = 'sleep'
/** What the tool calls a sleep that is none of the night's. */
const NAP = 'Nap'

/** Writes the title of an entry: a sleep has none of a person's, so it is named here. */
export function useEntryTitle(): (entry: ActivityEntry) => string {
  const { noTitle, sleep, nap } = useMessages().activity
  return useCallback(({ kind, title }: ActivityEntry) => (kind === SLEEP ? (title === NAP ? nap : sleep) : title || noTitle), [noTitle, sleep, nap])
}
