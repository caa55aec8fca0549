import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { CircleUser } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf } from '../../app/search.ts'

export interface ProfileSearch {
  /** The dialog that is open. */
  dialog?: 'token' | undefined
}

export const profileRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/profile',
  staticData: { title: (messages) => messages.profile.title, group: 'work', icon: CircleUser, key: 'P' },
  validateSearch: (query: Query): ProfileSearch => ({ dialog: readOneOf(query.dialog, ['token']) }),
  component: lazyRouteComponent(() => import('./ProfilePage.tsx'), 'ProfilePage'),
})
