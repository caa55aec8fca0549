import { describe, expect, it } from 'vitest'
import type { SchemaProviderView, SchemaTenantServiceView, SchemaToolModuleView } from '../../../api/schema.d.ts'
import { findDone, findNext, findConnectMethod, type Known, STEPS, type Step } from './steps.ts'

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
  services: [service],
  providers: [provider],
  registered: new Set(),
  modules: [module('needs_connect'), module('ready')],
  grants: 0,
  hasCalled: false,
}

describe('findConnectMethod', () => {
  it.each([
    [provider, [], 'needs_client'],
    [provider, ['notion'], 'oauth'],
    [{ ...provider, client_registration: 'registration' as const }, [], 'oauth'],
    [{ ...provider, key: true }, [], 'key'],
    [{ ...provider, key: true }, ['notion'], 'oauth'],
    [{ ...provider, problem: 'broken', key: true }, [], null],
    [{ ...provider, modules: ['github'] }, ['notion'], null],
  ])('%j with clients at %j: %s', (one, registered, method) => {
    expect(findConnectMethod('notion', { providers: [one], registered: new Set(registered), services: [service] })).toBe(method)
  })

  it('takes no key where a key would name no site', () => {
    const known = { providers: [{ ...provider, key: true }], registered: new Set<string>() }
    expect(findConnectMethod('notion', { ...known, services: [{ ...service, accepts_keys: false }] })).toBe('needs_client')
  })
})

describe('findDone', () => {
  it.each<[Partial<Known>, Step[]]>([
    [{}, []],
    [{ name: 'Ada' }, []],
    [{ name: 'Ada', tenant: { name: 'Acme', slug: 'default' } }, ['name']],
    [{ registered: new Set(['notion']) }, ['service']],
    [{ registered: new Set(['notion']), services: [{ ...service, enabled: false }] }, []],
    [{ registered: new Set(['notion']), services: [{ ...service, has_vendor: false }] }, []],
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
