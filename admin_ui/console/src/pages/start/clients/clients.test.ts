import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { quoteShell, quoteText } from './guide.ts'
import { CLIENTS } from './index.ts'

const URL = 'https://mcp.acme.example/mcp'
const DOCS = readFileSync(new globalThis.URL('../../../../../../docs/clients.md', import.meta.url), 'utf8')
const squash = (text: string) => text.replaceAll(/\s+/g, '')

const CODES = CLIENTS.flatMap((client) =>
  [...client.steps(URL), ...(client.withToken?.(URL) ?? [])].flatMap(({ code }) => (code ? [[client.name, code] as const] : [])),
)

test.each(CODES)('%s: docs/clients.md says the same', (_name, code) => {
  expect(squash(DOCS)).toContain(squash(code))
})

test.each(CLIENTS.flatMap((client) => (client.redirectUris ?? []).map((uri) => [client.name, uri] as const)))(
  '%s: docs/clients.md has the redirect URI %s',
  (_name, uri) => expect(DOCS).toContain(uri),
)

test('each client has a way, and an id of its own', () => {
  for (const client of CLIENTS) expect(client.steps(URL).length + (client.withToken?.(URL).length ?? 0)).toBeGreaterThan(0)
  expect(new Set(CLIENTS.map((client) => client.id)).size).toBe(12)
})

test.each([
  ["https://a.test/mcp", 'https://a.test/mcp'],
  ["https://a.test/$(rm)'", `'https://a.test/$(rm)'\\'''`],
  ['a b', "'a b'"],
])('%s is quoted for a shell', (text, quoted) => {
  expect(quoteShell(text)).toBe(quoted)
})

test('a text is quoted for TOML', () => {
  expect(quoteText('a"b\\c')).toBe('"a\\"b\\\\c"')
})
