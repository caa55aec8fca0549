import { expect, test } from 'vitest'
import { computePriorities, move } from './priorities.ts'

const rank = (...priorities: number[]) => priorities.map((priority, index) => ({ id: 'abcdef'[index]!, priority }))

test.each<[string, number[], number, number, string]>([
  ['down to a gap', [30, 20, 10], 0, 1, 'a15'],
  ['to the bottom', [30, 20, 10], 0, 2, 'a9'],
  ['to the top', [30, 20, 10], 2, 0, 'c31'],
  ['up to a gap', [30, 20, 10], 2, 1, 'c25'],
  ['where it stands', [30, 20, 10], 1, 1, ''],
  ['between neighbours without a gap', [3, 2, 1], 2, 1, 'a4 c3'],
  ['between equal ones', [5, 5, 5], 2, 1, 'a7 c6'],
  ['among many without a gap', [4, 3, 2, 1], 3, 2, 'a5 b4 d3'],
  ['the only one', [0], 0, 0, ''],
  ['out of the list', [2, 1], 0, 2, ''],
])('%s', (_, priorities, from, to, expected) => {
  const order = move(rank(...priorities), from, to)
  const place = order.findIndex(({ id }) => id === 'abcdef'[from])
  const changes = computePriorities(order, place)
  expect(changes.map((one) => `${one.id}${one.to}`).join(' ')).toBe(expected)
  const now = order.map(({ id, priority }) => changes.find((one) => one.id === id)?.to ?? priority)
  if (expected) expect([...now].sort((left, right) => right - left)).toEqual(now)
})
