import type { SchemaTenantServiceView, SchemaToolModuleView } from '../../../api/schema.d.ts'
import { type ConnectSetup, findConnectMethod, isConnectable } from '../../../components/connectMethods.ts'

/** The steps of the guided start, in their order. What is done is seen from what exists, so that nothing is kept of it. */
export const STEPS = ['name', 'service', 'account', 'client', 'call'] as const
export type Step = (typeof STEPS)[number]

/** What the API says of a tenant and the person who sets it up. */
export interface Known {
  name: string
  tenant: { name: string; slug: string }
  setup: ConnectSetup
  modules: readonly SchemaToolModuleView[]
  grants: number
  hasCalled: boolean
}

/** Whether somebody has named the company: a new tenant is called as its address is. */
export function isNamed({ name, slug }: Known['tenant']): boolean {
  return name !== '' && name !== slug
}

export function findDone(known: Known): ReadonlySet<Step> {
  const isReady = (service: SchemaTenantServiceView) =>
    service.enabled && service.has_vendor && isConnectable(findConnectMethod(service.module, known.setup))
  const done: Record<Step, boolean> = {
    name: known.name !== '' && isNamed(known.tenant),
    service: known.setup.services.some(isReady),
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
