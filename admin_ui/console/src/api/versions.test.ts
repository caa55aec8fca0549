import { expect, test, vi } from 'vitest'
import { Problem } from './problems.ts'
import { compareVersions, readConflict, sendMerging } from './versions.ts'

const BASE = { name: 'Sales', priority: '5', tags: ['a'] }

test.each([
  ['they changed nothing here', { name: 'Mine' }, BASE, []],
  ['another field', { name: 'Mine' }, { ...BASE, priority: '7' }, [['priority', '7', '7', false]]],
  ['the same field', { name: 'Mine' }, { ...BASE, name: 'Theirs' }, [['name', 'Theirs', 'Mine', true]]],
  ['the same field to the same value', { name: 'Both' }, { ...BASE, name: 'Both' }, [['name', 'Both', 'Both', false]]],
  ['a list', { tags: ['a', 'b'] }, { ...BASE, tags: [] }, [['tags', [], ['a', 'b'], true]]],
  ['an equal list', { name: 'Mine' }, { ...BASE, tags: ['a'] }, []],
])('%s', (_, edits, theirs, expected) => {
  const found = compareVersions(BASE, edits, theirs)
  expect(found.map(({ name, theirs: new_, mine, clashes }) => [name, new_, mine, clashes])).toEqual(expected)
})

const CONFLICT = new Problem(412, {
  code: 'version_conflict',
  current: { etag: '"v3"', changed_at: null, changed_by: 'eve', state: { name: 'Theirs' } },
})

test('a conflict is read from the problem, and nothing else is', () => {
  expect(readConflict(CONFLICT, (body: { name: string }) => body.name)).toEqual({
    values: 'Theirs',
    etag: '"v3"',
    changedAt: null,
    changedBy: 'eve',
  })
  expect(readConflict(new Problem(409, { code: 'conflict' }), (body) => body)).toBeNull()
  expect(readConflict(new Error('x'), (body) => body)).toBeNull()
})

test('a change that merges is sent once more, on the present version', async () => {
  const send = vi.fn().mockRejectedValueOnce(CONFLICT).mockResolvedValueOnce('done')
  expect(await sendMerging('"v2"', send)).toEqual({ result: 'done', merged: true })
  expect(send.mock.calls).toEqual([['"v2"'], ['"v3"']])
  await expect(sendMerging('"v2"', () => Promise.reject(new Problem(403, {})))).rejects.toThrow()
})
