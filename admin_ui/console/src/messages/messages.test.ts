import { expect, test } from 'vitest'
import { messages as en } from './en/index.ts'
import { messages as ja } from './ja/index.ts'

type Leaf = [name: string, english: unknown, japanese: unknown]

/** Texts that are the same in every language: names, what stands between them, and units that a narrow column has no more room for. */
const SAME = new Set([
  'shell.product',
  'dashboard.milliseconds',
  'logs.milliseconds',
  'playground.milliseconds',
  'shell.languages.en',
  'shell.languages.ja',
  'identity.kinds.google',
  'identity.kinds.microsoft',
  'identity.kinds.github',
  'senders.securities.starttls',
  'senders.securities.tls',
  'jobs.toolOf',
  'documents.sources.kinds.github',
  'documents.sources.kinds.notion',
  'documents.sources.kinds.confluence',
  'documents.sources.places.github',
  'documents.sources.places.confluence',
  'activity.sources.toggl',
  'activity.sources.google_health',
  'activity.kilometers',
  'activity.kilocalories',
])

function listLeaves(english: object, japanese: object, prefix = ''): Leaf[] {
  return Object.entries(english).flatMap(([key, value]) => {
    const other: unknown = (japanese as Record<string, unknown>)[key]
    const name = prefix + key
    return typeof value === 'object' && value !== null ? listLeaves(value, other as object, `${name}.`) : [[name, value, other] as Leaf]
  })
}

/** A text with made-up arguments in the place of what it will hold. */
function fill(text: unknown): string {
  if (typeof text !== 'function') return String(text)
  const filled = Array.from({ length: text.length }, (_, index) => (/count|number/.test(String(text)) ? 7 + index : `⟨${index}⟩`))
  return String(text(...filled))
}

const LEAVES = listLeaves(en, ja)

test.each(LEAVES)('%s is in both languages and uses what it is given', (name, english, japanese) => {
  expect(typeof japanese).toBe(typeof english)
  const [left, right] = [fill(english), fill(japanese)]
  expect(left).not.toBe('')
  for (const place of left.match(/⟨\d⟩/g) ?? []) expect(right).toContain(place)
  if (!SAME.has(name)) expect(right).toMatch(/[぀-ヿ一-鿿]/)
})

test('the writing is plain: no exclamation, no please, no success', () => {
  const texts = LEAVES.map(([, english]) => fill(english)).join('\n')
  expect(texts).not.toMatch(/!|please|successful/i)
})
