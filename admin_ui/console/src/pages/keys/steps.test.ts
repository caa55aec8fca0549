import { expect, test } from 'vitest'
import type { SchemaKeysView, SchemaKeyView } from '../../api/schema.d.ts'
import { listKeySteps } from './steps.ts'

const KEY: SchemaKeyView = {
  kek_id: 'k1', active: true, in_use: true, available: true, usable: true, tenants: 1, data_keys: 2, signing_keys: 1, message: '',
}
const VIEW: SchemaKeysView = { healthy: true, file: '', key_providers: ['file'], keys: [KEY], error: '', to_rewrap: 0, to_reencrypt: 0 }
const OLD = { ...KEY, kek_id: 'k0', active: false, data_keys: 0, signing_keys: 0 }

test.each([
  ['at rest', VIEW, []],
  ['missing', { ...VIEW, keys: [{ ...KEY, available: false, usable: false }] }, ['restore']],
  ['a rotation begins', { ...VIEW, keys: [KEY, { ...OLD, data_keys: 3 }], to_rewrap: 3 }, ['rewrap']],
  ['rewrapped', { ...VIEW, keys: [KEY, OLD], to_reencrypt: 4 }, ['reencrypt']],
  ['a new key is added', { ...VIEW, keys: [KEY, { ...OLD, in_use: false }] }, ['activate']],
  ['of a key service', { ...VIEW, key_providers: ['aws-kms', 'file'], keys: [KEY, { ...OLD, in_use: false }] }, []],
  ['done', { ...VIEW, keys: [KEY, OLD] }, ['retire']],
])('%s', (_, view, expected) => {
  expect(listKeySteps(view).map((step) => step.name)).toEqual(expected)
})
