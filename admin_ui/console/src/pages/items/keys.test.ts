import { expect, test } from 'vitest'
import { readLines, splitKey } from './keys.ts'

test.each([
  ['task-7', 'task', '7'],
  ['bug-report-12', 'bug-report', '12'],
  ['作業-1', '作業', '1'],
])('%s is type and number', (key, type, id) => {
  expect(splitKey(key)).toEqual({ type, id })
})

test('lines are read without blanks and repeats', () => {
  expect(readLines(' a \n\nb,c\na\n')).toEqual(['a', 'b,c'])
  expect(readLines('')).toEqual([])
})
