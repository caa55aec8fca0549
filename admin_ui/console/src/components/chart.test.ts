import { describe, expect, test } from 'vitest'
import { buildLine, computeScale } from './chart.ts'

describe('the top of the scale', () => {
  test.each([
    [[], 1],
    [[0], 1],
    [[1], 1],
    [[3], 5],
    [[10], 10],
    [[11], 20],
    [[499], 500],
    [[501, null], 1000],
  ])('of %j is %i', (values, top) => {
    expect(computeScale([{ values }], true)).toBe(top)
  })

  test('is that of the sum where bars stand on one another', () => {
    const series = [{ values: [3, 4] }, { values: [3, null] }]
    expect(computeScale(series, true)).toBe(10)
    expect(computeScale(series, false)).toBe(5)
  })
})

test.each([
  [[0, 10], 'M0 100L200 0'],
  [[5, null, 5, 5], 'M0 50h6M133.3 50L200 50'],
  [[null, 5], 'M194 50h6'],
  [[null, null], ''],
  [[10], 'M0 0h6'],
])('the line of %j is %s', (values, path) => {
  expect(buildLine(values, 10, 200, 100)).toBe(path)
})
