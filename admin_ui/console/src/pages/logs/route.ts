import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'
import { LOG_SORTS } from './filters.ts'

export const SPANS = ['1h', '24h', '7d', '30d'] as const
export const OUTCOMES = ['ok', 'error', 'denied', 'timeout', 'cancelled', 'pending', 'unknown'] as const
/** Groups of kinds: a kind, or what stands before its dot. */
export const KINDS = [
  'call',
  'call.denied',
  'sign_in',
  'user',
  'role',
  'permission',
  'access_request',
  'job',
  'schedule',
  'mandate',
  'service',
  'account',
  'credential',
  'token',
  'grant',
  'tenant',
  'audit',
] as const

export interface LogsSearch {
  /** How far back; everything without it. */
  since?: (typeof SPANS)[number] | undefined
  /** Days of the person's zone, `2026-11-24`; both are included. */
  from?: string | undefined
  to?: string | undefined
  /** The person, by id. */
  user?: string | undefined
  /** `notion`, or `notion.search_pages`. */
  tool?: string | undefined
  outcome?: (typeof OUTCOMES)[number] | undefined
  kind?: (typeof KINDS)[number] | undefined
  request?: string | undefined
  /** Newest first without it. */
  sort?: string | undefined
  live?: '1' | undefined
  /** Number and time of the entry whose panel is open. */
  id?: string | undefined
  at?: string | undefined
  dialog?: 'verify' | 'days' | 'retention' | undefined
}

const DAY = /^\d{4}-\d\d-\d\d$/

export const logsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/logs',
  staticData: { title: (messages) => messages.logs.title, right: 'administer', group: 'manage', icon: ScrollText, key: 'L' },
  validateSearch: (query: Query): LogsSearch => ({
    since: readOneOf(query.since, SPANS),
    from: readDay(query.from),
    to: readDay(query.to),
    user: readText(query.user),
    tool: readText(query.tool),
    outcome: readOneOf(query.outcome, OUTCOMES),
    kind: readOneOf(query.kind, KINDS),
    request: readText(query.request),
    sort: writeSort(readSort(query.sort, LOG_SORTS)),
    live: readOneOf(query.live, ['1']),
    id: readText(query.id),
    at: readText(query.at),
    dialog: readOneOf(query.dialog, ['verify', 'days', 'retention']),
  }),
  component: lazyRouteComponent(() => import('./LogsPage.tsx'), 'LogsPage'),
})

function readDay(value: unknown): string | undefined {
  const text = readText(value)
  return text && DAY.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}
