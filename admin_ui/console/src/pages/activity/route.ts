import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Activity } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export const VIEWS = ['week', 'day'] as const
const DAY = /^\d{4}-\d{2}-\d{2}$/

export interface ActivitySearch {
  /** A week without it. */
  view?: 'day' | undefined
  /** The day, or one of the week; today without it. */
  date?: string | undefined
}

export const activityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/activity',
  staticData: { title: (messages) => messages.activity.title, module: 'activity', group: 'work', icon: Activity, key: 'A' },
  validateSearch: (query: Query): ActivitySearch => {
    const date = readText(query.date)
    return { view: readOneOf(query.view, ['day']), date: date && DAY.test(date) ? date : undefined }
  },
  component: lazyRouteComponent(() => import('./ActivityPage.tsx'), 'ActivityPage'),
})
