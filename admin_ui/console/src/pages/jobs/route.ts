import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { ListTodo } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const
export const SCHEDULE_STATES = ['waiting_for_consent', 'active', 'paused', 'ended'] as const
export const JOB_SORTS = ['created_at'] as const
const DIALOGS = ['cancel', 'retry', 'pause', 'remove', 'create', 'edit'] as const

export interface JobsSearch {
  /** Jobs without it. */
  view?: 'schedules' | undefined
  /** For administrators: those of everyone; one's own without it. */
  of?: 'all' | undefined
  /** A state of what the view lists. */
  state?: string | undefined
  /** The service, by its module. */
  service?: string | undefined
  /** For administrators: the person, by id. */
  user?: string | undefined
  /** Newest first without it. */
  sort?: string | undefined
  /** The job or schedule whose panel is open. */
  id?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
  /** The tool that a new schedule begins with, and its arguments as JSON: a link of another page. */
  tool?: string | undefined
  params?: string | undefined
}

export const jobsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/jobs',
  staticData: { title: (messages) => messages.jobs.title, group: 'work', icon: ListTodo, key: 'J' },
  validateSearch: (query: Query): JobsSearch => ({
    view: readOneOf(query.view, ['schedules']),
    of: readOneOf(query.of, ['all']),
    state: readOneOf(query.state, [...JOB_STATES, ...SCHEDULE_STATES]),
    service: readText(query.service),
    user: readText(query.user),
    sort: writeSort(readSort(query.sort, JOB_SORTS)),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, DIALOGS),
    tool: readText(query.tool),
    params: readText(query.params),
  }),
  component: lazyRouteComponent(() => import('./JobsPage.tsx'), 'JobsPage'),
})
