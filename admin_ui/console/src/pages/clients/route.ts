import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { AppWindow } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

const VIEWS = ['registered', 'issuers'] as const
const DIALOGS = ['new', 'remove', 'trust', 'distrust', 'revoke'] as const

export interface ClientsSearch {
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
    view: readOneOf(query.view, VIEWS),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./ClientsPage.tsx'), 'ClientsPage'),
})
