import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Blocks } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const SERVICE_TABS = ['general', 'settings', 'oauth'] as const
export const SERVICE_SORTS = ['title', 'enabled'] as const
export const PROVIDER_SORTS = ['title', 'origin'] as const
const VIEWS = ['providers'] as const
const DIALOGS = ['add-provider', 'remove-provider', 'remove-client'] as const

export type ServiceTab = (typeof SERVICE_TABS)[number]

export interface ServicesSearch {
  q?: string | undefined
  sort?: string | undefined
  /** The list of providers in the place of that of services. */
  view?: (typeof VIEWS)[number] | undefined
  /** The service whose panel is open, or with `view` the provider. */
  id?: string | undefined
  tab?: ServiceTab | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
  /** The role whose OAuth client is shown, in the place of everybody's. */
  role?: string | undefined
  /** The OAuth client that the dialog is about. */
  client?: string | undefined
}

export const servicesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/services',
  staticData: { title: (messages) => messages.services.title, right: 'administer', group: 'manage', icon: Blocks, key: 'S' },
  validateSearch: (query: Query): ServicesSearch => ({
    q: readText(query.q),
    sort: writeSort(readSort(query.sort, [...SERVICE_SORTS, ...PROVIDER_SORTS])),
    view: readOneOf(query.view, VIEWS),
    id: readText(query.id),
    tab: readOneOf(query.tab, SERVICE_TABS),
    dialog: readOneOf(query.dialog, DIALOGS),
    role: readText(query.role),
    client: readText(query.client),
  }),
  component: lazyRouteComponent(() => import('./ServicesPage.tsx'), 'ServicesPage'),
})
