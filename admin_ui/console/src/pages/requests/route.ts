import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Inbox } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const REQUEST_STATES = ['open', 'approved', 'declined', 'withdrawn'] as const
export const REQUEST_SORTS = ['created_at'] as const
export type RequestState = (typeof REQUEST_STATES)[number]

export interface RequestsSearch {
  /** Open ones without it. */
  state?: RequestState | 'any' | undefined
  q?: string | undefined
  /** Newest first without it. */
  sort?: string | undefined
  /** The request whose panel is open. */
  id?: string | undefined
  dialog?: 'decline' | undefined
}

export const requestsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests',
  staticData: { title: (messages) => messages.requests.title, right: 'administer', group: 'manage', icon: Inbox, key: 'Q' },
  validateSearch: (query: Query): RequestsSearch => ({
    state: readOneOf(query.state, [...REQUEST_STATES, 'any']),
    q: readText(query.q),
    sort: writeSort(readSort(query.sort, REQUEST_SORTS)),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, ['decline']),
  }),
  component: lazyRouteComponent(() => import('./RequestsPage.tsx'), 'RequestsPage'),
})
