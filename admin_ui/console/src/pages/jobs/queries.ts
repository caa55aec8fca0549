import { queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'
import { isUnfinished } from './jobStates.ts'

/** Changes are told as they happen; this finds what was told while nobody listened. */
export const LOOK_AGAIN_MS = 10_000

export const pathOf = (id: string) => ({ path: { job_id: id } })

export const scheduleOf = (id: string) => ({ path: { schedule_id: id } })

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['jobs', 'one', id],
    queryFn: () => read(api.GET('/api/v1/jobs/{job_id}', { params: pathOf(id) })),
    refetchInterval: ({ state: { data } }) => (data && isUnfinished(data) ? LOOK_AGAIN_MS : false),
  })

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: ['schedules', 'one', id],
    queryFn: () => read(api.GET('/api/v1/schedules/{schedule_id}', { params: scheduleOf(id) })),
  })

/** The services whose tools the person may use. */
export const ownServicesQuery = queryOptions({
  queryKey: ['tool-modules', 'all'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/tool-modules', { params: { query } }))),
})

/** The person's own API tokens, revoked ones too: a job names by its id the one that asked for it. */
export const ownTokensQuery = queryOptions({
  queryKey: ['tokens', 'own', 'names'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/tokens', { params: { query } }))),
})
