import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { House } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { STEPS, type Step } from './guided/steps.ts'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export const RANGES = ['24h', '7d', '30d'] as const
export type DashboardRange = (typeof RANGES)[number]

export interface HomeSearch {
  /** Administrators see the dashboard without it. */
  view?: 'own' | undefined
  range?: DashboardRange | undefined
  /** The client whose connection is shown. */
  client?: string | undefined
  /** The step of the guided start; `next` is the first one that is open. */
  start?: Step | 'next' | undefined
  /** The service whose account is about to be connected there. */
  connect?: string | undefined
}

export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  staticData: { title: (messages) => messages.home.title, group: 'work', icon: House, key: 'D' },
  validateSearch: (query: Query): HomeSearch => ({
    view: readOneOf(query.view, ['own']),
    range: readOneOf(query.range, RANGES),
    client: readText(query.client),
    start: readOneOf(query.start, [...STEPS, 'next']),
    connect: readText(query.connect),
  }),
  component: lazyRouteComponent(() => import('./HomePage.tsx'), 'HomePage'),
})
