import { describe, expect, it } from 'vitest'
import type { SchemaProviderView, SchemaTenantServiceView, SchemaToolModuleView } from '../../../api/schema.d.ts'
import { findDone, findNext, type Known, STEPS, type Step } from './steps.ts'

const service = { module: 'notion', enabled: true, has_vendor: true, accepts_keys: true } as SchemaTenantServiceView
const provider = {
  id: 'notion',
  modules: ['notion'],
  oauth: true,
  key: false,
  client_registration: '',
  problem: '',
} as unknown as SchemaProviderView
const module = (state: string) => ({ module: 'notion', connection: { state } }) as SchemaToolModuleView

const NOTHING: Known = {
  name: '',
  tenant: { name: 'default', slug: 'default' },
  setup: { services: [service], providers: [provider], clients: [] },
  modules: [module('needs_connect'), module('ready')],
  grants: 0,
  hasCalled: false,
}
const registered = (change: Partial<SchemaTenantServiceView> = {}): Partial<Known> => ({
  setup: { services: [{ ...service, ...change }], providers: [provider], clients: [{ provider: 'notion', role_id: null, client_id: 'C' }] },
})

describe('findDone', () => {
  it.each<[Partial<Known>, Step[]]>([
    [{}, []],
    [{ name: 'Ada' }, []],
    [{ name: 'Ada', tenant: { name: 'Acme', slug: 'default' } }, ['name']],
    [registered(), ['service']],
    [registered({ enabled: false }), []],
    [registered({ has_vendor: false }), []],
    [{ modules: [module('connected')] }, ['account']],
    [{ modules: [module('broken')] }, []],
    [{ grants: 1 }, ['client']],
    [{ hasCalled: true }, ['client', 'call']],
  ])('%j: %j', (known, done) => {
    expect([...findDone({ ...NOTHING, ...known })]).toEqual(done)
  })
})

describe('findNext', () => {
  it.each<[Step[], Step | null]>([
    [[], 'name'],
    [['name', 'service'], 'account'],
    [['account'], 'name'],
    [[...STEPS], null],
  ])('done %j: %s', (done, next) => {
    expect(findNext(new Set(done))).toBe(next)
  })
})
