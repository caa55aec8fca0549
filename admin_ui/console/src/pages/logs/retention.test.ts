import { expect, test } from 'vitest'
import { isShorter, readMonths } from './retention.ts'

test.each([
  [undefined, null],
  ['', null],
  ['  ', null],
  [' 12 ', 12],
  ['0', 0],
])('the months of %j are %j', (text, months) => {
  expect(readMonths(text)).toBe(months)
})

test.each([
  [12, null, true],
  [1200, null, true],
  [11, 12, true],
  [12, 12, false],
  [13, 12, false],
])('%j months instead of %j: shorter is %j', (months, now, shorter) => {
  expect(isShorter(months, now)).toBe(shorter)
})
