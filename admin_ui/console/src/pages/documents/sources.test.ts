import { expect, test } from 'vitest'
import { documents } from '../../messages/en/documents.ts'
import { buildPlace, describePlace, findSourceState, isShared, readRepository, type SyncReport } from './sources.ts'

const REPORT: SyncReport = { at: '', added: 1, updated: 0, unchanged: 0, removed: 0, skipped_count: 0, skipped: [], is_complete: true }

test.each([
  ['acme/docs', 'acme/docs'],
  [' acme/docs ', 'acme/docs'],
  ['https://github.com/acme/docs', 'acme/docs'],
  ['https://github.example.com/acme/docs.git', 'acme/docs'],
  ['https://github.com/acme/my.docs/', 'acme/my.docs'],
  ['acme', null],
  ['a/b/c', null],
  ['https://github.com/acme', null],
  ['acme/docs?x', null],
  ['', null],
])('%s names the repository %s', (text, repository) => {
  expect(readRepository(text)).toBe(repository)
})

test('a place has the fields of its kind that hold something', () => {
  const fields = { repository: 'https://github.com/acme/docs', folder: ' ', ref: 'main', space: 'DOCS', title_words: '手引き' }
  expect(buildPlace('github', fields)).toEqual({ kind: 'github', repository: 'acme/docs', ref: 'main' })
  expect(buildPlace('notion', fields)).toEqual({ kind: 'notion', title_words: '手引き' })
  expect(buildPlace('notion', {})).toEqual({ kind: 'notion' })
  expect(buildPlace('confluence', fields)).toEqual({ kind: 'confluence', space: 'DOCS' })
})

test('a source is called as its tool calls it', () => {
  const { places } = documents.sources
  expect(describePlace({ kind: 'github', repository: 'acme/docs', folder: 'guide' }, places)).toBe('GitHub acme/docs, guide')
  expect(describePlace({ kind: 'notion' }, places)).toBe('Notion')
  expect(describePlace({ kind: 'notion', title_words: 'tea' }, places)).toBe('Notion pages about tea')
  expect(describePlace({ kind: 'confluence', space: 'DOCS' }, places)).toBe('Confluence DOCS')
})

test('people agree to what others read', () => {
  expect([isShared({ owner: 'user' }), isShared({ owner: 'role' }), isShared({ owner: 'tenant' })]).toEqual([false, true, true])
})

test.each([
  [undefined, 'never'],
  [REPORT, 'synced'],
  [{ ...REPORT, skipped_count: 1 }, 'partial'],
  [{ ...REPORT, is_complete: false }, 'partial'],
] as const)('after %o a source is %s', (report, state) => {
  expect(findSourceState(report)).toBe(state)
})
