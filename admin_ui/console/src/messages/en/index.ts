import { activity } from './activity.ts'
import { charts } from './charts.ts'
import { clients } from './clients.ts'
import { common } from './common.ts'
import { connections } from './connections.ts'
import { dashboard } from './dashboard.ts'
import { doctor, keys } from './deployment.ts'
import { documents } from './documents.ts'
import { guidedStart } from './guidedStart.ts'
import { home } from './home.ts'
import { identities } from './identities.ts'
import { identity, trials, trust } from './identity.ts'
import { items } from './items.ts'
import { jobs } from './jobs.ts'
import { logs } from './logs.ts'
import { mandates } from './mandates.ts'
import { modelView } from './modelView.ts'
import { oauthClients } from './oauthClients.ts'
import { playground } from './playground.ts'
import { problems } from './problems.ts'
import { profile } from './profile.ts'
import { requests } from './requests.ts'
import { results } from './results.ts'
import { roles } from './roles.ts'
import { schedules } from './schedules.ts'
import { schemas } from './schemas.ts'
import { senders } from './senders.ts'
import { services } from './services.ts'
import { settings } from './settings.ts'
import { shell } from './shell.ts'
import { tenants } from './tenants.ts'
import { toolExposure } from './toolExposure.ts'
import { tools } from './tools.ts'
import { users } from './users.ts'
import { versions } from './versions.ts'

export const messages = {
  activity,
  charts,
  clients,
  common,
  connections,
  dashboard,
  doctor,
  documents,
  guidedStart,
  home,
  identities,
  identity,
  items,
  jobs,
  keys,
  logs,
  mandates,
  modelView,
  oauthClients,
  playground,
  problems,
  profile,
  requests,
  results,
  roles,
  schedules,
  schemas,
  senders,
  services,
  settings,
  shell,
  tenants,
  toolExposure,
  tools,
  trials,
  trust,
  users,
  versions,
}
