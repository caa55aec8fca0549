import { createRootRoute } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import type { Right } from '../api/queries.ts'
import type { Messages } from '../messages/index.tsx'
import { PageProblem } from './PageProblem.tsx'
import { MissingPage } from './MissingPage.tsx'
import { Shell } from './Shell.tsx'

export type NavigationGroup = 'work' | 'manage' | 'operate'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    title?: (messages: Messages) => string
    /** What the page needs; people without it see the 403 page, and no link leads there. */
    right?: Right
    /** The module whose tools the page is made of; no link leads there for people who may use none of them. */
    module?: string
    /** Where the navigation has the page; without a group it is in no list. */
    group?: NavigationGroup
    icon?: LucideIcon
    /** Letter after G that goes there. */
    key?: string
  }
}

export const rootRoute = createRootRoute({
  component: Shell,
  errorComponent: PageProblem,
  notFoundComponent: MissingPage,
})
