import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { House } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readText } from '../../app/search.ts'

export interface HomeSearch {
  /** The client whose connection is shown. */
  client?: string | undefined
}

export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  staticData: { title: (messages) => messages.home.title, group: 'work', icon: House, key: 'D' },
  validateSearch: (query: Query): HomeSearch => ({ client: readText(query.client) }),
  component: lazyRouteComponent(() => import('./HomePage.tsx'), 'HomePage'),
})
