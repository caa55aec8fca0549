import type { SchemaProviderView, SchemaTenantServiceView, SchemaToolModuleView } from '../../../api/schema.d.ts'

/** The steps of the guided start, in their order. What is done is seen from what exists, so that nothing is kept of it. */
export const STEPS = ['name', 'service', 'account', 'client', 'call'] as const
export type Step = (typeof STEPS)[number]

/** How people get an account at a service: by a key, by OAuth as it is, or only once a client is registered there. */
export type ConnectMethod = 'key' | 'oauth' | 'needs_client'

/** What the API says of a tenant and the person who sets it up. */
export interface Known {
  name: string
  tenant: { name: string; slug: string }
  services: readonly SchemaTenantServiceView[]
  providers: readonly SchemaProviderView[]
  /** Providers that the tenant has registered an OAuth client with. */
  registered: ReadonlySet<string>
  modules: readonly SchemaToolModuleView[]
  grants: number
  hasCalled: boolean
}

/** The best way to an account of a module; null where none of its providers works. */
export function findConnectMethod(
  module: string,
  { providers, registered, services }: Pick<Known, 'providers' | 'registered' | 'services'>,
): ConnectMethod | null {
  const own = providers.filter((one) => one.modules.includes(module) && one.problem === '')
  const acceptsKeys = services.some((service) => service.module === module && service.accepts_keys)
  if (own.some((one) => one.oauth && (one.client_registration !== '' || registered.has(one.id)))) return 'oauth'
  if (acceptsKeys && own.some((one) => one.key)) return 'key'
  return own.some((one) => one.oauth || one.key) ? 'needs_client' : null
}

/** Whether somebody has named the company: a new tenant is called as its address is. */
export function isNamed({ name, slug }: Known['tenant']): boolean {
  return name !== '' && name !== slug
}

export function findDone(known: Known): ReadonlySet<Step> {
  const isConnectable = (service: SchemaTenantServiceView) => {
    const method = findConnectMethod(service.module, known)
    return service.enabled && service.has_vendor && method !== null && method !== 'needs_client'
  }
  const done: Record<Step, boolean> = {
    name: known.name !== '' && isNamed(known.tenant),
    service: known.services.some(isConnectable),
    account: known.modules.some((module) => module.connection?.state === 'connected'),
    client: known.grants > 0 || known.hasCalled,
    call: known.hasCalled,
  }
  return new Set(STEPS.filter((step) => done[step]))
}

/** The first step that is open; null where none is. */
export function findNext(done: ReadonlySet<Step>): Step | null {
  return STEPS.find((step) => !done.has(step)) ?? null
}
