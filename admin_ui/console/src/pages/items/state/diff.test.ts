import { describe, expect, test } from 'vitest'
import { compareLines, foldLines, type Line } from './diff.ts'

const write = (lines: readonly Line[] | null) =>
  lines?.map(({ kind, text }) => ({ same: ' ', added: '+', taken: '-' })[kind] + text).join('|')

/** What one side of a comparison says. */
const side = (lines: readonly Line[], kind: 'added' | 'taken') =>
  lines.flatMap((line) => (line.kind === 'same' || line.kind === kind ? [line.text] : [])).join('\n')

describe('two texts', () => {
  test.each([
    ['', '', ' '],
    ['a', 'a', ' a'],
    ['a', 'b', '-a|+b'],
    ['a\nb\nc', 'a\nc', ' a|-b| c'],
    ['a\nc', 'a\nb\nc', ' a|+b| c'],
    ['a\nb', 'b\na', '-a| b|+a'],
    ['今日\n倉庫', '今日\n移転', ' 今日|-倉庫|+移転'],
  ])('%j and %j', (before, after, lines) => {
    expect(write(compareLines(before, after))).toBe(lines)
  })

  test('each side is whole in the comparison, whatever they are', () => {
    let seed = 7
    const draw = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    const make = () => Array.from({ length: draw(30) }, () => 'abcde'[draw(5)]).join('\n')
    for (let round = 0; round < 300; round += 1) {
      const [before, after] = [make(), make()]
      const lines = compareLines(before, after)!
      expect([side(lines, 'taken'), side(lines, 'added')]).toEqual([before, after])
    }
  })

  test('of a thousand lines each that have nothing in common are not compared', () => {
    const make = (name: string) => Array.from({ length: 1_000 }, (_, line) => `${name}${line}`).join('\n')
    expect(compareLines(make('a'), make('b'))).toBeNull()
    const long = make('a')
    expect(compareLines(long, `${long}\nb`)?.filter(({ kind }) => kind !== 'same')).toEqual([{ kind: 'added', text: 'b' }])
  })
})

test('three lines around each difference are shown, and how many are not', () => {
  const before = Array.from({ length: 20 }, (_, line) => String(line)).join('\n')
  const hunks = foldLines(compareLines(before, before.replace('10', 'ten'))!)
  expect(hunks.map(({ skipped, lines }) => [skipped, write(lines)])).toEqual([
    [7, ' 7| 8| 9|-10|+ten| 11| 12| 13'],
    [6, ''],
  ])
  expect(foldLines(compareLines('a', 'a')!)).toEqual([{ skipped: 1, lines: [] }])
})
