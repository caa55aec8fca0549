import { describe, expect, test } from 'vitest'
import { computePause, EventParser, readHint } from './events.ts'

const CHANGE = 'id: 7\nevent: change\ndata: {"resource":"roles","kind":"role.created","object_id":"a"}\n\n'

describe('the parser', () => {
  test.each([1, 2, 5, 1000])('cuts the same events from pieces of %i characters', (size) => {
    const parser = new EventParser()
    const text = `id: 6\nevent: ready\ndata: {}\n\n: ping\n\n${CHANGE}`
    const events = text.match(new RegExp(`[^]{1,${size}}`, 'g'))!.flatMap((piece) => parser.feed(piece))
    expect(events.map(({ id, name }) => [id, name])).toEqual([['6', 'ready'], ['7', 'change']])
    expect(readHint(events[1]!)).toEqual({ resource: 'roles', kind: 'role.created', object_id: 'a', request_id: '' })
  })

  test('refuses an event without an end', () => {
    expect(() => new EventParser().feed('x'.repeat(100_001))).toThrow()
  })

  test.each(['{', 'null', '{"resource":1}', '[]'])('takes %s for no hint', (data) => {
    expect(readHint({ id: '1', name: 'change', data })).toBeNull()
  })
})

test.each([
  [0, 0, 500],
  [0, 1, 1_000],
  [3, 1, 8_000],
  [50, 1, 30_000],
])('after %i failures the pause with a spread of %f is %i ms', (failures, spread, pause) => {
  expect(computePause(failures, spread)).toBe(pause)
})
