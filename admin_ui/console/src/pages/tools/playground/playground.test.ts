// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { estimateTokens } from '../../../schema/estimate.ts'
import { validate } from '../../../schema/validate.ts'
import { toPython, writeCode } from './code.ts'
import { readMessage, type ToolCall } from '../../../api/mcp.ts'

const CALL: ToolCall = { name: 'call', arguments: { module: 'kg', tool_name: 'read', params: { q: "it's", all: true } } }

test('curl quotes what the shell would read', () => {
  expect(writeCode('curl', CALL, 'https://a.test/mcp')).toContain(`"q":"it'\\''s"`)
})

test('values are written as Python has them', () => {
  expect(toPython({ a: null, b: [true, false], c: 'é"' })).toBe('{"a": None, "b": [True, False], "c": "é\\""}')
})

test.each([
  ['{"jsonrpc":"2.0","id":1,"result":{}}', 'application/json', true],
  ['event: message\ndata: {"method":"notifications/progress"}\n\ndata: {"id":1,"result":{}}\n\n', 'text/event-stream', true],
  ['<html>', 'text/html', false],
  ['', 'application/json', false],
])('%s is read', (body, type, found) => {
  expect(readMessage(body, type) !== null).toBe(found)
})

// Numbers of core/token_estimate.py.
test.each([
  ['', 0],
  ['Run one tool; `params` as its schema says.', 12],
  ['{"module":"github","tools":[1234567]}', 11],
  ['ロールを追加', 4],
])('%s costs %i tokens', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens)
})

test('a value is checked at its place', () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    required: ['q', 'n'],
    properties: { q: { type: 'string' }, n: { type: 'integer', maximum: 5 }, f: { $ref: '#/$defs/F' } },
    $defs: { F: { type: 'object', required: ['s'], properties: { s: { enum: ['a'] } } } },
  }
  const texts = { requiredValue: 'missing', unknown: 'unknown' }
  expect(Object.fromEntries(validate(schema, { n: 9, f: {}, x: 1 }, texts))).toEqual({
    '/q': 'missing',
    '/n': '9 is greater than 5.',
    '/f/s': 'missing',
    '/x': 'unknown',
  })
  expect([...validate(schema, '{"q', texts).keys()]).toEqual([''])
  expect(validate(schema, { q: 'x', n: 1, f: { s: 'a' } }, texts).size).toBe(0)
})
