import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Settings } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export const VIEWS = ['company', 'notices', 'mappings', 'keys', 'collector'] as const
export type SettingsView = (typeof VIEWS)[number]
export const ALERTS = ['account', 'account_end', 'credential', 'oauth_client'] as const
export type AlertName = (typeof ALERTS)[number]

export interface SettingsSearch {
  view?: SettingsView | undefined
  /** The alert whose form is open. */
  id?: AlertName | undefined
  /** The kind of vendor key whose form is open. */
  kind?: string | undefined
  dialog?: 'add' | 'remove' | 'scim' | undefined
}

export const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  staticData: { title: (messages) => messages.settings.title, right: 'administer', group: 'manage', icon: Settings, key: 'E' },
  validateSearch: (query: Query): SettingsSearch => ({
    view: readOneOf(query.view, VIEWS),
    id: readOneOf(query.id, ALERTS),
    kind: readText(query.kind),
    dialog: readOneOf(query.dialog, ['add', 'remove', 'scim']),
  }),
  component: lazyRouteComponent(() => import('./SettingsPage.tsx'), 'SettingsPage'),
})
