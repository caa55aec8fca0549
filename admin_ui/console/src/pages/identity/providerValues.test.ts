import { expect, test } from 'vitest'
import { buildBody, goesElsewhere, hasField, KINDS, NO_VALUES, type ProviderKind } from './providerValues.ts'

const TYPED = { ...NO_VALUES, client_id: ' c ', issuer: 'https://i ', tenant: 't', base_url: 'b', api_url: 'a', groups_claim: 'g' }

test.each<[ProviderKind, object]>([
  ['oidc', { issuer: 'https://i', tenant: '', base_url: '', api_url: '', groups_claim: 'g' }],
  ['google', { issuer: '', tenant: '', base_url: '', api_url: '', groups_claim: '' }],
  ['microsoft', { issuer: '', tenant: 't', base_url: 'b', api_url: '', groups_claim: 'g' }],
  ['github', { issuer: '', tenant: '', base_url: 'b', api_url: 'a', groups_claim: '' }],
])('what is sent of %s', (kind, expected) => {
  expect(buildBody({ ...TYPED, kind }, 's')).toEqual({ kind, label: '', client_id: 'c', client_secret: 's', ...expected })
})

test('an empty secret is none', () => {
  expect(buildBody(NO_VALUES, '').client_secret).toBeNull()
})

test.each([
  ['label', false],
  ['groups_claim', false],
  ['client_id', true],
  ['issuer', true],
  ['base_url', true],
] as const)('another %s asks for the secret again: %s', (name, asks) => {
  expect(goesElsewhere(TYPED, { ...TYPED, [name]: 'other' })).toBe(asks)
})

test('each kind says which fields it has', () => {
  expect(KINDS.filter((kind) => hasField(kind, 'groups_claim'))).toEqual(['oidc', 'microsoft'])
})
