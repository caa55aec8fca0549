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
  kind?: string
  /** With the offset; days alone for what lasts whole days, which ends before its end. */
  start: string
  /** Now, while it runs. */
  end: string
  title: string
  detail?: string | null
  project?: string | null
  tags?: string[]
  all_day?: boolean
  running?: boolean
}

export interface ActivityDay {
  date: string
  entries: ActivityEntry[]
  totals: Record<string, number | null>
  /** So many more entries there are. */
  left_out?: number
}

export interface ActivitySummary {
  timeZone: string
  sources: ActivitySource[]
  days: ActivityDay[]
}

type Answer = { time_zone: string; sources: ActivitySource[] } & (ActivityDay | { days: ActivityDay[] })

/** Read some days from one on, as they are in a time zone. */
export const activityQuery = (date: string, days: number, timeZone: string) =>
  queryOptions({
    queryKey: ['activity', date, days, timeZone],
    queryFn: async ({ signal }): Promise<ActivitySummary> => {
      const found = await askTool<Answer>(MODULE, 'summary', { date, days, time_zone: timeZone }, signal)
      return { timeZone: found.time_zone, sources: found.sources, days: 'days' in found && found.days ? found.days : [found as ActivityDay] }
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
