import { QueryClient, queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, read } from './client.ts'
import { Problem } from './problems.ts'
import type { SchemaCurrentUserView } from './schema.d.ts'

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: 10_000, retry: isWorthRepeating, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  })
}

/** Only what may go away by itself: no answer, or the server's own trouble; twice. */
function isWorthRepeating(failures: number, error: unknown): boolean {
  return error instanceof Problem && (error.status === 0 || error.status >= 500) && failures < 2
}

/** Who is signed in, and what they may do. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => read(api.GET('/api/v1/me', {})),
  staleTime: 60_000,
})

/** The applications that the person has let in. */
export const ownGrantsQuery = queryOptions({
  queryKey: ['grants', 'own'],
  queryFn: () => read(api.GET('/api/v1/oauth/grants', { params: { query: { limit: 100 } } })),
})

/** What a page may need; `operate` is the operator of the whole deployment. */
export type Right = 'administer' | 'operate'

const NEEDED = { administer: 'tenant.read', operate: 'deployment.read' } as const

export function hasRight(me: SchemaCurrentUserView, right: Right | undefined): boolean {
  return right === undefined || me.rights.includes(NEEDED[right])
}

/** Whether links lead somebody to a page: they have its right, and a tool of its module. */
export function isLinked(me: SchemaCurrentUserView, needed: { right?: Right; module?: string } | undefined): boolean {
  return hasRight(me, needed?.right) && (needed?.module === undefined || me.modules.includes(needed.module))
}

/** The person of this page; main.tsx has loaded it before anything is drawn. */
export function useMe(): SchemaCurrentUserView {
  return useSuspenseQuery(meQuery).data
}
