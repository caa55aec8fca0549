import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { readText, type Query } from '../../app/search.ts'

export interface RolesSearch {
  /** The row whose panel is open. */
  id?: string | undefined
}

export const rolesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/roles',
  staticData: { title: (messages) => messages.roles.title, right: 'administer', group: 'manage', icon: ShieldCheck, key: 'R' },
  validateSearch: (query: Query): RolesSearch => ({ id: readText(query.id) }),
  component: lazyRouteComponent(() => import('./RolesPage.tsx'), 'RolesPage'),
})
