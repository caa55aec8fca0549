import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { askTool } from '../../api/tools.ts'

const MODULE = 'activity'

export interface ActivitySource {
  source: string
  connected: boolean
  connect_url?: string | null
  synced_at?: string | null
  error?: string | null
}

export interface ActivityEntry {
  source: string
  /** With the offset; a day alone for what lasts whole days. */
  start: string
  /** None while it runs. */
  end?: string | null
  title?: string | null
  detail?: string | null
  project?: string | null
  tags?: string[] | null
}

export interface ActivityDay {
  date: string
  time_zone: string
  sources: ActivitySource[]
  entries: ActivityEntry[]
  totals: Record<string, number | null>
}

/** Read some days from one on, in the person's time zone. */
export const activityQuery = (date: string, days: number) =>
  queryOptions({
    queryKey: ['activity', date, days],
    queryFn: async ({ signal }) => {
      const params = { date, ...(days > 1 && { days }) }
      const found = await askTool<ActivityDay | { days: ActivityDay[] }>(MODULE, 'summary', params, signal)
      return 'days' in found ? found.days : [found]
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
