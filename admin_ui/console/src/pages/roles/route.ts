import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const ROLE_TABS = ['general', 'permissions', 'members', 'accounts', 'see-as'] as const
export const ROLE_SORTS = ['name', 'priority'] as const
const VIEWS = ['order'] as const
const DIALOGS = ['new', 'copy', 'remove', 'disconnect'] as const

export type RoleTab = (typeof ROLE_TABS)[number]

export interface RolesSearch {
  /** The order of roles in the place of their list. */
  view?: (typeof VIEWS)[number] | undefined
  q?: string | undefined
  sort?: string | undefined
  /** The role whose panel is open. */
  id?: string | undefined
  tab?: RoleTab | undefined
  /** The service whose tools the permissions show alone, or whose shared account the dialog ends. */
  service?: string | undefined
  /** Words to find among the tools. */
  find?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
}

export const rolesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/roles',
  staticData: { title: (messages) => messages.roles.title, right: 'administer', group: 'manage', icon: ShieldCheck, key: 'R' },
  validateSearch: (query: Query): RolesSearch => ({
    view: readOneOf(query.view, VIEWS),
    q: readText(query.q),
    sort: writeSort(readSort(query.sort, ROLE_SORTS)),
    id: readText(query.id),
    tab: readOneOf(query.tab, ROLE_TABS) ?? (readText(query.service) ? 'permissions' : undefined),
    service: readText(query.service),
    find: readText(query.find),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./RolesPage.tsx'), 'RolesPage'),
})
