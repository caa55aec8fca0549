import { describe, expect, it } from 'vitest'
import type { SchemaProviderView, SchemaTenantServiceView } from '../api/schema.d.ts'
import { type ConnectMethod, findConnectMethod, isConnectable } from './connectMethods.ts'

const service = { module: 'notion', accepts_keys: true } as SchemaTenantServiceView
const provider = {
  id: 'notion',
  modules: ['notion'],
  oauth: true,
  key: false,
  client_registration: '',
  problem: '',
} as unknown as SchemaProviderView
const everybody = { provider: 'notion', role_id: null, client_id: 'C' }
const ofRole = { ...everybody, role_id: 'R1' }

describe('findConnectMethod', () => {
  it.each<[SchemaProviderView, (typeof everybody | typeof ofRole)[], string | undefined, ConnectMethod | null]>([
    [provider, [], undefined, 'needs_client'],
    [provider, [everybody], undefined, 'oauth'],
    [provider, [everybody], 'R1', 'oauth'],
    [provider, [ofRole], undefined, 'roles_only'],
    [provider, [ofRole], 'R1', 'oauth'],
    [provider, [ofRole], 'R2', 'needs_client'],
    [{ ...provider, client_registration: 'registration' }, [], undefined, 'oauth'],
    [{ ...provider, key: true }, [], undefined, 'key'],
    [{ ...provider, key: true }, [ofRole], undefined, 'key'],
    [{ ...provider, key: true }, [everybody], undefined, 'oauth'],
    [{ ...provider, oauth: false }, [everybody], undefined, null],
  ])('%j with clients %j for role %s: %s', (one, clients, role, method) => {
    expect(findConnectMethod('notion', { providers: [one], clients, services: [service] }, role)).toBe(method)
  })

  it('takes no key where a key would name no site', () => {
    const setup = { providers: [{ ...provider, key: true }], clients: [], services: [{ ...service, accepts_keys: false }] }
    expect(findConnectMethod('notion', setup)).toBe('needs_site')
  })

  it('takes a key where no provider is known, if the service takes one at all', () => {
    for (const one of [{ ...provider, problem: 'broken' }, { ...provider, modules: ['github'] }]) {
      const setup = { providers: [one], clients: [everybody] }
      expect(findConnectMethod('notion', { ...setup, services: [service] })).toBe('key')
      expect(findConnectMethod('notion', { ...setup, services: [{ ...service, accepts_keys: false }] })).toBeNull()
    }
  })
})

it.each<[ConnectMethod | null, boolean]>([
  ['oauth', true],
  ['key', true],
  ['roles_only', false],
  ['needs_client', false],
  ['needs_site', false],
  [null, false],
])('isConnectable(%s): %s', (method, connectable) => {
  expect(isConnectable(method)).toBe(connectable)
})
