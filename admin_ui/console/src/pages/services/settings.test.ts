import { expect, test } from 'vitest'
import type { SchemaTenantServiceDetails } from '../../api/schema.d.ts'
import { dropUnset, localizeSchema, readApiErrors, readSettings } from './settings.ts'

const SCHEMA = {
  properties: {
    timeout: { type: 'number', title: 'Time limit', 'x-translations': { ja: { title: '制限時間' } } },
    mode: { type: 'string', title: 'Mode' },
  },
}

test.each([
  ['en', 'Time limit', 'Mode'],
  ['ja', '制限時間', 'Mode'],
] as const)('titles in %s', (language, timeout, mode) => {
  const { properties } = localizeSchema(SCHEMA, language)
  expect([properties?.timeout?.title, properties?.mode?.title]).toEqual([timeout, mode])
})

test('what is not set is null, and is left out of the form', () => {
  const service = { settings: { timeout: 5, gone: 1 }, settings_schema: SCHEMA } as unknown as SchemaTenantServiceDetails
  expect(readSettings(service)).toEqual({ timeout: 5, mode: null })
  expect(dropUnset(readSettings(service))).toEqual({ timeout: 5 })
})

test('errors of the API stand at their fields', () => {
  expect([...readApiErrors({ 'settings.timeout': 'too long', 'settings.hosts.1': 'bad', name: 'other' })]).toEqual([
    ['/timeout', 'too long'],
    ['/hosts/1', 'bad'],
  ])
})
