import { createRoute, createRouter } from '@tanstack/react-router'
import { PAGES } from './pages.ts'
import { PageProblem } from './PageProblem.tsx'
import { PageSkeleton } from '../components/States.tsx'
import { rootRoute } from './root.tsx'
import { parseSearch, stringifySearch } from './search.ts'
import { SignedIn } from './SignedIn.tsx'

const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/signed-in',
  component: SignedIn,
  staticData: { title: (messages) => messages.problems.signedInTitle },
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([signedInRoute, ...PAGES]),
  basepath: '/console',
  // TanStack's own would read numbers and JSON into values, and `id=662E41` is no number.
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultPendingMs: 150,
  defaultPendingComponent: PageSkeleton,
  defaultErrorComponent: PageProblem,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
  interface HistoryState {
    /** The panel or dialog was opened from the page before it, so that closing it goes back there. */
    opened?: boolean
  }
}
