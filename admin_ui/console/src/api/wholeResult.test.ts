import { describe, expect, test } from 'vitest'
import { completeResult, type ReadPart } from './wholeResult.ts'

const WHOLE = { title: 't', content: 'abcdefghij', days: [{ entries: [1, 2] }, { entries: [3, 4, 5, 6, 7] }] }

/** Reads as the server does, three at a time. */
const read: ReadPart = (handle, path, start) => {
  expect(handle).toBe('res_1')
  const value = path === 'content' ? WHOLE.content : WHOLE.days[1]!.entries
  const next = start + 3 < value.length ? { next: start + 3 } : {}
  const part = value.slice(start, start + 3)
  return Promise.resolve(typeof part === 'string' ? { text: part, ...next } : { items: part, ...next })
}

test('a result that is whole stays as it is', async () => {
  expect(await completeResult(WHOLE, read)).toBe(WHOLE)
  expect(await completeResult(undefined, read)).toBeUndefined()
})

test('texts and lists are read to their end', async () => {
  const left = [
    { path: 'content', next: 2 },
    { path: 'days[1].entries', next: 1 },
  ]
  const shown = { partial: { handle: 'res_1', left }, title: 't', content: 'ab', days: [{ entries: [1, 2] }, { entries: [3] }] }
  expect(await completeResult(shown, read)).toEqual(WHOLE)
  const without = { partial: { handle: 'res_1', left: [{ path: 'content', next: 0 }] }, title: 't', days: WHOLE.days }
  expect(await completeResult(without, read)).toEqual(WHOLE)
})

describe('what cannot be read is told, and not shown in part', () => {
  test.each([
    ['the rest was not kept', { note: 'the rest could not be kept', left: [{ path: 'content', next: 2 }] }],
    ['there is more than is named', { handle: 'res_1', more_left: 1 }],
    ['it is no list', { handle: 'res_1', left: [{ path: 'days[7].entries', next: 0 }] }],
  ])('%s', async (_, partial) => {
    await expect(completeResult({ partial, content: 'ab' }, read)).rejects.toMatchObject({ code: 'too_large' })
  })
})
