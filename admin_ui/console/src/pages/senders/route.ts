import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf } from '../../app/search.ts'

export const SENDER_KINDS = ['mail', 'webhook'] as const

export type SenderKind = (typeof SENDER_KINDS)[number]

export interface SendersSearch {
  /** The sender that the dialog is about to remove. */
  remove?: SenderKind | undefined
}

export const sendersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/senders',
  staticData: { title: (messages) => messages.senders.title, right: 'operate', group: 'operate', icon: Send, key: 'O' },
  validateSearch: (query: Query): SendersSearch => ({ remove: readOneOf(query.remove, SENDER_KINDS) }),
  component: lazyRouteComponent(() => import('./SendersPage.tsx'), 'SendersPage'),
})
