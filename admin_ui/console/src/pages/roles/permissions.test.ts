import { describe, expect, test } from 'vitest'
import {
  applyPreset,
  compare,
  countChanges,
  decide,
  type Grants,
  isDeniedAtLarge,
  PRESETS,
  setTool,
  type Tool,
} from './permissions.ts'

const READ: Tool = { module: 'notion', name: 'get_page', effect: 'reads' }
const WRITE: Tool = { module: 'notion', name: 'create_page', effect: 'changes' }
const DESTROY: Tool = { module: 'notion', name: 'delete_page', effect: 'destroys' }
const OTHER: Tool = { module: 'github', name: 'get_issue', effect: 'reads' }
const TOOLS = [READ, WRITE, DESTROY, OTHER]

const grants = (allow: string[], deny: string[] = []): Grants => ({ allow: new Set(allow), deny: new Set(deny) })
const show = ({ allow, deny }: Grants) => [[...allow].sort(), [...deny].sort()]
const permitted = (of: Grants) => TOOLS.filter((tool) => decide(of, tool).permitted)

test.each([
  [[], [], READ, false, null],
  [['*'], [], WRITE, true, '*'],
  [['notion.*', '*'], [], WRITE, true, 'notion.*'],
  [['notion:read'], [], READ, true, 'notion:read'],
  [['notion:read'], [], WRITE, false, null],
  [['notion.get_page', 'notion.*'], [], READ, true, 'notion.get_page'],
  [['*'], ['notion.delete_page'], DESTROY, false, 'notion.delete_page'],
  [['notion.get_page'], ['notion:read'], READ, false, 'notion:read'],
  [['notion.*'], ['github.*'], READ, true, 'notion.*'],
] as const)('allow %j, deny %j', (allow, deny, tool, permits, by) => {
  expect(decide(grants([...allow], [...deny]), tool)).toEqual({ permitted: permits, by })
})

describe('a tool is switched by the smallest change', () => {
  test.each([
    [grants([]), READ, true, [['notion.get_page'], []]],
    [grants(['notion.get_page']), READ, false, [[], []]],
    [grants(['notion.*']), READ, false, [['notion.*'], ['notion.get_page']]],
    [grants(['notion.*'], ['notion.get_page']), READ, true, [['notion.*'], []]],
    [grants(['*', 'notion.get_page']), READ, false, [['*'], ['notion.get_page']]],
  ] as const)('%#', (before, tool, on, after) => {
    expect(show(setTool(before, tool, on))).toEqual(after)
    expect(decide(setTool(before, tool, on), tool).permitted).toBe(on)
  })

  test('what a broader denial takes away cannot be given one by one', () => {
    expect(isDeniedAtLarge(grants(['*'], ['notion.*']), READ)).toBe(true)
    expect(isDeniedAtLarge(grants(['*'], ['notion.get_page']), READ)).toBe(false)
  })
})

describe('presets', () => {
  const EXPECTED = { none: [], reads: [READ], safe: [READ, WRITE], all: [READ, WRITE, DESTROY] }
  const BEFORE = [grants([]), grants(['*']), grants(['github.*', 'notion.*'], ['notion:read']), grants(['*'], ['notion.*'])]

  test.each(PRESETS)('%s of one module leaves the others as they were', (preset) => {
    for (const before of BEFORE) {
      const after = applyPreset(before, ['notion'], preset, TOOLS)
      expect(permitted(after).filter((tool) => tool.module === 'notion')).toEqual(EXPECTED[preset])
      expect(decide(after, OTHER).permitted).toBe(decide(before, OTHER).permitted)
    }
  })

  test('of all modules', () => {
    const both = ['notion', 'github']
    expect(show(applyPreset(grants(['notion.*']), both, 'all', TOOLS))).toEqual([['*'], []])
    expect(show(applyPreset(grants(['*']), both, 'none', TOOLS))).toEqual([[], []])
    expect(show(applyPreset(grants(['*'], ['notion.get_page']), both, 'reads', TOOLS))).toEqual([['github:read', 'notion:read'], []])
  })

  test('what is said about modules that are not installed stays', () => {
    expect(show(applyPreset(grants(['gone.tool', 'notion.*'], ['gone:read']), ['notion', 'github'], 'none', TOOLS))).toEqual([
      ['gone.tool'],
      ['gone:read'],
    ])
  })
})

test('changes are counted', () => {
  const before = grants(['a.x', 'a.y'], ['b.z'])
  const changes = compare(before, grants(['a.x', 'c.w'], []))
  expect(changes).toEqual({ allow: { add: ['c.w'], remove: ['a.y'] }, deny: { add: [], remove: ['b.z'] } })
  expect(countChanges(changes)).toBe(3)
  expect(countChanges(compare(before, before))).toBe(0)
})
