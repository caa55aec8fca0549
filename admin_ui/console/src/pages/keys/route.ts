import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'

export const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  staticData: { title: (messages) => messages.keys.title, right: 'operate', group: 'operate', icon: KeyRound, key: 'K' },
  component: lazyRouteComponent(() => import('./KeysPage.tsx'), 'KeysPage'),
})
