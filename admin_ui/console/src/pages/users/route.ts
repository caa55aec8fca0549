import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { readText, type Query } from '../../app/search.ts'

export interface UsersSearch {
  /** The row whose panel is open. */
  id?: string | undefined
}

export const usersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/users',
  staticData: { title: (messages) => messages.users.title, right: 'administer', group: 'manage', icon: Users, key: 'U' },
  validateSearch: (query: Query): UsersSearch => ({ id: readText(query.id) }),
  component: lazyRouteComponent(() => import('./UsersPage.tsx'), 'UsersPage'),
})
