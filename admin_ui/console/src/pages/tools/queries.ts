import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'
import type { ModuleSort, StateFilter } from './route.ts'

/** As many tools as are shown at a time. */
const PAGE = 100

export const moduleQuery = (module: string) =>
  queryOptions({
    queryKey: ['tool-modules', 'one', module],
    queryFn: () => read(api.GET('/api/v1/tool-modules/{module}', { params: { path: { module } } })),
  })

export const modulesQuery = (q: string, state: StateFilter | undefined, sort: ModuleSort | undefined) =>
  infiniteQueryOptions({
    queryKey: ['tool-modules', 'list', q, state, sort],
    queryFn: ({ pageParam }) =>
      read(
        api.GET('/api/v1/tool-modules', {
          params: { query: { q, limit: PAGE, ...(state && { state }), ...(sort && { sort }), ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })

/** The modules that wait for an account of the person's. */
export const unconnectedQuery = queryOptions({
  queryKey: ['tool-modules', 'unconnected'],
  queryFn: () => read(api.GET('/api/v1/tool-modules', { params: { query: { state: 'needs_connect', limit: PAGE } } })),
})

/** Tools of one module, or of all; those that one may use, or the others. */
export const toolsQuery = (filter: { q: string; module?: string; permitted: boolean }) =>
  infiniteQueryOptions({
    queryKey: ['tools', 'list', filter],
    queryFn: ({ pageParam }) =>
      read(api.GET('/api/v1/tools', { params: { query: { ...filter, limit: PAGE, ...(pageParam && { cursor: pageParam }) } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })

export const toolQuery = (module: string, tool: string) =>
  queryOptions({
    queryKey: ['tools', 'one', module, tool],
    queryFn: () => read(api.GET('/api/v1/tools/{module}/{tool}', { params: { path: { module, tool } } })),
    staleTime: 60_000,
  })

/** The person's own requests for tools, newest first. */
export const ownRequestsQuery = queryOptions({
  queryKey: ['access-requests', 'own'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/access-requests', { params: { query } }))),
})

export const ownCredentialsQuery = queryOptions({
  queryKey: ['credentials', 'own'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/credentials', { params: { query } }))),
})

export const lastConnectSessionQuery = queryOptions({
  queryKey: ['connect-sessions', 'last'],
  queryFn: () => read(api.GET('/api/v1/connect-sessions', { params: { query: { limit: 1 } } })),
  staleTime: 0,
})
