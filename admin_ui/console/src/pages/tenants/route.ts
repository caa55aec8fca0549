import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Building2 } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readSort, readText, writeSort } from '../../app/search.ts'

export const TENANT_SORTS = ['slug', 'name'] as const
export const STATUSES = ['active', 'suspended'] as const
const DIALOGS = ['new', 'suspend', 'remove'] as const

export interface TenantsSearch {
  q?: string | undefined
  status?: (typeof STATUSES)[number] | undefined
  sort?: string | undefined
  /** The tenant whose panel is open. */
  id?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
}

export const tenantsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tenants',
  staticData: { title: (messages) => messages.tenants.title, right: 'operate', group: 'operate', icon: Building2, key: 'N' },
  validateSearch: (query: Query): TenantsSearch => ({
    q: readText(query.q),
    status: readOneOf(query.status, STATUSES),
    sort: writeSort(readSort(query.sort, TENANT_SORTS)),
    id: readText(query.id),
    dialog: readOneOf(query.dialog, DIALOGS),
  }),
  component: lazyRouteComponent(() => import('./TenantsPage.tsx'), 'TenantsPage'),
})
