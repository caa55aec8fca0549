import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Waypoints } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export const VIEWS = ['list', 'graph', 'state', 'workspaces'] as const
export const DEPTHS = ['1', '2', '3'] as const
const DIALOGS = ['create', 'edit', 'remove', 'retype'] as const
const REVISION = /^\d{1,9}$/

export interface ItemsSearch {
  /** The list without it. */
  view?: 'graph' | 'state' | 'workspaces' | undefined
  /** As tools take it; one's own without it. */
  workspace?: string | undefined
  q?: string | undefined
  type?: string | undefined
  status?: string | undefined
  tag?: string | undefined
  /** Items of closed statuses too. */
  closed?: '1' | undefined
  /** Key of the item that is shown. */
  id?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
  /** Name of the workspace that a dialog is about. */
  place?: string | undefined
  /** Key of the item in the middle of the picture, and how far the picture goes; 2 without it. */
  center?: string | undefined
  depth?: '1' | '3' | undefined
  /** Revisions of the current state that are compared. */
  before?: string | undefined
  after?: string | undefined
}

export const itemsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/items',
  staticData: { title: (messages) => messages.items.title, module: 'items', group: 'work', icon: Waypoints, key: 'W' },
  validateSearch: (query: Query): ItemsSearch => ({
    view: readOneOf(query.view, ['graph', 'state', 'workspaces']),
    workspace: readText(query.workspace),
    q: readText(query.q),
    type: readText(query.type),
    status: readText(query.status),
    tag: readText(query.tag),
    closed: readOneOf(query.closed, ['1']),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, DIALOGS),
    place: readText(query.place),
    center: readText(query.center),
    depth: readOneOf(query.depth, ['1', '3']),
    before: readRevision(query.before),
    after: readRevision(query.after),
  }),
  component: lazyRouteComponent(() => import('./ItemsPage.tsx'), 'ItemsPage'),
})

function readRevision(value: unknown): string | undefined {
  return typeof value === 'string' && REVISION.test(value) ? value : undefined
}
