import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { AppWindow } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const GRANT_SORTS = ['created_at', 'last_used_at'] as const
export const CLIENT_SORTS = ['created_at', 'name'] as const
export const ISSUER_SORTS = ['issuer', 'created_at'] as const
const VIEWS = ['registered', 'issuers'] as const
const DIALOGS = ['new', 'remove', 'trust', 'distrust', 'revoke'] as const

export interface ClientsSearch {
  q?: string | undefined
  sort?: string | undefined
  /** Another list than that of connected applications. */
  view?: (typeof VIEWS)[number] | undefined
  /** The grant, client or issuer whose panel is open. */
  id?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
}

export const clientsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/clients',
  staticData: { title: (messages) => messages.oauthClients.title, right: 'administer', group: 'manage', icon: AppWindow, key: 'C' },
  validateSearch: (query: Query): ClientsSearch => ({
    q: readText(query.q),
    sort: writeSort(readSort(query.sort, [...GRANT_SORTS, ...CLIENT_SORTS, ...ISSUER_SORTS])),
    view: readOneOf(query.view, VIEWS),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./ClientsPage.tsx'), 'ClientsPage'),
})
