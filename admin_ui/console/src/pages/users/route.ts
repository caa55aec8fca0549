import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const USER_TABS = ['general', 'roles', 'connections', 'access', 'activity', 'see-as'] as const
export const USER_SORTS = ['email', 'name', 'created_at'] as const
export const STATUSES = ['active', 'suspended'] as const
export const SYSTEM_ROLES = ['admin', 'user'] as const
const DIALOGS = ['invite', 'allow-list', 'remove', 'suspend'] as const

export type UserTab = (typeof USER_TABS)[number]

export interface UsersSearch {
  q?: string | undefined
  status?: (typeof STATUSES)[number] | undefined
  system_role?: (typeof SYSTEM_ROLES)[number] | undefined
  sort?: string | undefined
  /** The person whose panel is open. */
  id?: string | undefined
  tab?: UserTab | undefined
  /** The dialog that is open. */
  dialog?: (typeof DIALOGS)[number] | undefined
}

export const usersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/users',
  staticData: { title: (messages) => messages.users.title, right: 'administer', group: 'manage', icon: Users, key: 'U' },
  validateSearch: (query: Query): UsersSearch => ({
    q: readText(query.q),
    status: readOneOf(query.status, STATUSES),
    system_role: readOneOf(query.system_role, SYSTEM_ROLES),
    sort: writeSort(readSort(query.sort, USER_SORTS)),
    id: readText(query.id),
    tab: readOneOf(query.tab, USER_TABS),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./UsersPage.tsx'), 'UsersPage'),
})
