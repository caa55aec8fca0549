import { expect, test } from 'vitest'
import { type JsonSchema, listProperties, nameType, readShape } from './schema.ts'

const ROOT: JsonSchema = {
  $defs: {
    State: { enum: ['open', 'closed'], description: 'of the definition' },
    Loop: { $ref: '#/$defs/Loop' },
    Tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/Tree' } } } },
    'a/b': { type: 'boolean' },
  },
}

test.each<[JsonSchema, string]>([
  [{ type: 'string' }, 'string'],
  [{ type: 'string', format: 'date-time' }, 'string (date-time)'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'integer | null'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
  [{ $ref: '#/$defs/State' }, '"open" | "closed"'],
  [{ $ref: '#/$defs/a~1b' }, 'boolean'],
  [{ const: 7 }, '7'],
  [{ $ref: '#/$defs/missing' }, 'any'],
  [{ $ref: 'https://elsewhere.test/schema' }, 'any'],
  [{ $ref: '#/$defs/Loop' }, 'any'],
  [{ $ref: '#/$defs/Tree' }, 'object'],
  [{}, 'any'],
])('%j is named', (schema, name) => {
  expect(nameType(schema, ROOT)).toBe(name)
})

test('what stands beside a reference wins over what it names', () => {
  const { schema, nullable } = readShape({ anyOf: [{ $ref: '#/$defs/State' }, { type: 'null' }], description: 'own' }, ROOT)
  expect([schema.description, schema.enum, nullable]).toEqual(['own', ['open', 'closed'], true])
})

test('required properties come first', () => {
  const schema = { properties: { a: {}, b: {}, c: {} }, required: ['c'] }
  expect(listProperties(schema).map((one) => one.name)).toEqual(['c', 'a', 'b'])
})
