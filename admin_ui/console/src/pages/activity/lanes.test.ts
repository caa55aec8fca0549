import { expect, test } from 'vitest'
import { placeEntries, type Span } from './lanes.ts'

const DAY: Span = { start: 0, end: 240 }
const place = (...entries: [number, number][]) =>
  placeEntries(entries.map(([start, end]) => ({ start, end })), DAY, 10).map(({ index, from, to, column, columns }) => [
    index,
    Math.round(from * 240),
    Math.round(to * 240),
    `${column + 1}/${columns}`,
  ])

test('entries one after the other have the whole width', () => {
  expect(place([0, 60], [60, 120])).toEqual([
    [0, 0, 60, '1/1'],
    [1, 60, 120, '1/1'],
  ])
})

test('those that overlap stand side by side, and a free place is used again', () => {
  expect(place([0, 100], [50, 120], [100, 150], [200, 240])).toEqual([
    [0, 0, 100, '1/2'],
    [1, 50, 120, '2/2'],
    [2, 100, 150, '1/2'],
    [3, 200, 240, '1/1'],
  ])
})

test('what goes beyond the day is cut, and what is outside is left out', () => {
  expect(place([-50, 20], [230, 300], [-50, 0], [240, 300])).toEqual([
    [0, 0, 20, '1/1'],
    [1, 230, 240, '1/1'],
  ])
})

test('a short one is high enough to be pressed, upwards at the end of the day, and covers none', () => {
  expect(place([50, 51], [52, 53], [239, 240], [100, 90])).toEqual([
    [0, 50, 60, '1/2'],
    [1, 52, 62, '2/2'],
    [3, 100, 110, '1/1'],
    [2, 230, 240, '1/1'],
  ])
})

test('many at the same time stand in the order of the list', () => {
  expect(place([0, 30], [0, 30], [0, 60]).map(([index, , , column]) => [index, column])).toEqual([
    [2, '1/3'],
    [0, '2/3'],
    [1, '3/3'],
  ])
})
