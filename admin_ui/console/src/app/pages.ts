import { activityRoute } from '../pages/activity/route.ts'
import { clientsRoute } from '../pages/clients/route.ts'
import { doctorRoute } from '../pages/doctor/route.ts'
import { documentsRoute } from '../pages/documents/route.ts'
import { homeRoute } from '../pages/start/route.ts'
import { identityRoute } from '../pages/identity/route.ts'
import { itemsRoute } from '../pages/items/route.ts'
import { jobsRoute } from '../pages/jobs/route.ts'
import { keysRoute } from '../pages/keys/route.ts'
import { logsRoute } from '../pages/logs/route.ts'
import { profileRoute } from '../pages/profile/route.ts'
import { requestsRoute } from '../pages/requests/route.ts'
import { rolesRoute } from '../pages/roles/route.ts'
import { sendersRoute } from '../pages/senders/route.ts'
import { servicesRoute } from '../pages/services/route.ts'
import { settingsRoute } from '../pages/settings/route.ts'
import { tenantsRoute } from '../pages/tenants/route.ts'
import { toolsRoute } from '../pages/tools/route.ts'
import { usersRoute } from '../pages/users/route.ts'

/** Every page of the console in the order of the navigation. A page that is not here does not exist. */
export const PAGES = [
  homeRoute,
  toolsRoute,
  documentsRoute,
  itemsRoute,
  activityRoute,
  jobsRoute,
  profileRoute,
  usersRoute,
  requestsRoute,
  rolesRoute,
  servicesRoute,
  clientsRoute,
  logsRoute,
  settingsRoute,
  doctorRoute,
  tenantsRoute,
  identityRoute,
  sendersRoute,
  keysRoute,
] as const
