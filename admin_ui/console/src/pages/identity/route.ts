import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Fingerprint } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

const VIEWS = ['trust'] as const
const SOURCES = ['file'] as const
const DIALOGS = ['new', 'remove', 'reset'] as const

export interface IdentitySearch {
  q?: string | undefined
  /** The trust in clients, in the place of the list of providers. */
  view?: (typeof VIEWS)[number] | undefined
  /** The provider whose panel is open, and `file` for one of identity.toml. */
  id?: string | undefined
  from?: (typeof SOURCES)[number] | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
}

export const identityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/identity',
  staticData: { title: (messages) => messages.identity.title, right: 'operate', group: 'operate', icon: Fingerprint, key: 'I' },
  validateSearch: (query: Query): IdentitySearch => ({
    q: readText(query.q),
    view: readOneOf(query.view, VIEWS),
    id: readText(query.id),
    from: readOneOf(query.from, SOURCES),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./IdentityPage.tsx'), 'IdentityPage'),
})
