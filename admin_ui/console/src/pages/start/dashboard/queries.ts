import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, read } from '../../../api/client.ts'
import { readOffset } from '../../../messages/format.ts'
import type { DashboardRange } from '../route.ts'
import { roundOffset } from './days.ts'

const HOUR_MS = 3_600_000
const HOURS: Record<DashboardRange, number> = { '24h': 24, '7d': 168, '30d': 720 }
/** The range moves on where nothing happens, too. */
const MOVES_MS = 60_000
/** As many requests as are looked at. */
const LOOKED_AT = 200

export const figuresQuery = (range: DashboardRange) =>
  queryOptions({
    queryKey: ['figures', range],
    queryFn: () => {
      const now = Date.now()
      const since = new Date(now - HOURS[range] * HOUR_MS).toISOString()
      const utc_offset_hours = roundOffset(readOffset(now)) // days are the person's
      const days = range === '30d'
      const query = { since, interval: days ? ('day' as const) : ('hour' as const), ...(days && { utc_offset_hours }) }
      return read(api.GET('/api/v1/figures', { params: { query } }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: MOVES_MS,
  })

export const connectionCountsQuery = queryOptions({
  queryKey: ['connections', 'counts'],
  queryFn: () => read(api.GET('/api/v1/connections/counts', {})),
})

export const openRequestsQuery = queryOptions({
  queryKey: ['access-requests', 'open'],
  queryFn: () =>
    read(api.GET('/api/v1/access-requests', { params: { query: { all_owners: true, state: 'open', limit: LOOKED_AT } } })),
})

export const findingsQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: () => read(api.GET('/api/v1/doctor', {})),
})
