import type { SchemaOAuthClientView, SchemaProviderView, SchemaTenantServiceView } from '../api/schema.d.ts'

/**
 * How people get an account at a service: by a key, by OAuth as it is, or only once a client is registered there.
 * `needs_site`: a client, or for keys the site that the settings name. `roles_only`: some roles have a client of their own,
 * and everybody else has none.
 */
export type ConnectMethod = 'key' | 'oauth' | 'needs_client' | 'needs_site' | 'roles_only'

/** What the API says of how the services of a tenant are connected. */
export interface ConnectSetup {
  services: readonly SchemaTenantServiceView[]
  providers: readonly SchemaProviderView[]
  clients: readonly Pick<SchemaOAuthClientView, 'provider' | 'role_id' | 'client_id'>[]
}

/** The best way to an account of a service for everybody, or for the people of a role; null where there can be none. */
export function findConnectMethod(module: string, { services, providers, clients }: ConnectSetup, role?: string): ConnectMethod | null {
  const own = providers.filter((one) => one.modules.includes(module) && one.problem === '')
  const takesKeys = services.some((service) => service.module === module && service.accepts_keys)
  if (own.length === 0) return takesKeys ? 'key' : null
  const oauth = own.filter((one) => one.oauth)
  const registered = clients.filter((client) => oauth.some((one) => one.id === client.provider))
  const introduces = oauth.some((one) => one.client_registration !== '')
  if (introduces || registered.some((client) => client.role_id === null || client.role_id === role)) return 'oauth'
  if (takesKeys && own.some((one) => one.key)) return 'key'
  if (role === undefined && registered.length > 0) return 'roles_only'
  if (own.some((one) => one.key)) return 'needs_site'
  return oauth.length > 0 ? 'needs_client' : null
}

/** Whether somebody can connect an account by it. */
export function isConnectable(method: ConnectMethod | null): boolean {
  return method === 'oauth' || method === 'key'
}
