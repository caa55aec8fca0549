import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Stethoscope } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'

export const doctorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/doctor',
  staticData: { title: (messages) => messages.doctor.title, right: 'administer', group: 'manage', icon: Stethoscope, key: 'H' },
  component: lazyRouteComponent(() => import('./DoctorPage.tsx'), 'DoctorPage'),
})
