import { expect, test } from 'vitest'
import { messages as en } from '../../messages/en/index.ts'
import { messages as ja } from '../../messages/ja/index.ts'
import { ItemProblem } from './problems.ts'

const describe = (code: number, details: Record<string, unknown>) =>
  new ItemProblem('Validation failed', { code, message: 'Validation failed', data: { details } }).describe(ja)

test.each([
  [1001, { type: 'task', id: 9, requested_id: 'task-9' }, 'task-9', []],
  [1001, { type: 'task', id: 9, requested_id: 9 }, 'task-9', []],
  [1002, { field: 'title', value: ' ', constraint: 'is blank' }, 'タイトル', ['title']],
  [1002, { field: 'related[2]', value: 'x', constraint: 'must be type-number' }, 'キー', ['related']],
  [1002, { field: 'name', value: 'x', constraint: 'there may be at most 100 workspaces of one owner' }, '上限', ['name']],
  [1002, { field: 'workspace', value: 'x', constraint: 'is no workspace that you may read' }, 'ワークスペース', []],
  [1002, { field: 'odd', value: 'x', constraint: 'is odd' }, 'odd', []],
  [1003, { message: 'x', reference: 'abc' }, 'abc', []],
  [1004, { constraint: 'known_status', field: 'status' }, 'ステータス', ['status']],
  [1005, { workspace: 'tenant/board', message: 'you may read it, and not change it' }, 'tenant/board', []],
  [1005, { workspace: 'tenant/board', message: 'only administrators delete it' }, '管理者', []],
])('error %i is told in Japanese: %j', (code, details, part, fields) => {
  const told = describe(code, details)
  expect(told?.text).toContain(part)
  expect(told?.text).toMatch(/[぀-ヿ一-鿿]/)
  expect(Object.keys(told?.fields ?? {})).toEqual(fields)
})

test('what the document does not have keeps its own text', () => {
  expect(describe(1004, { constraint: 'new_one' })).toBeNull()
  expect(describe(2000, {})).toBeNull()
  expect(Object.keys(ja.items.errors.invalid)).toEqual(Object.keys(en.items.errors.invalid))
})
