import { describe, expect, test } from 'vitest'
import { buildNeighbors, compareKeys, drawEdge, type Edge, findNext, type GraphNode, layOut, listTypes, NODE_HEIGHT, NODE_WIDTH } from './layout.ts'

/** A tree of 200 items to depth 3, with relations across. */
function makeGraph(): { nodes: GraphNode[]; edges: Edge[] } {
  const nodes: GraphNode[] = [{ key: 'task-1', distance: 0 }]
  const edges: Edge[] = []
  for (let number = 2; number <= 200; number += 1) {
    const distance = number <= 13 ? 1 : number <= 80 ? 2 : 3
    const parent = distance === 1 ? 1 : distance === 2 ? 2 + (number % 12) : 14 + (number % 67)
    nodes.push({ key: `task-${number}`, distance })
    edges.push([`task-${parent}`, `task-${number}`])
    if (number % 5 === 0 && number > 80) edges.push([`task-${number}`, `task-${number - 1}`])
  }
  return { nodes, edges }
}

describe('a picture of 200 items', () => {
  const { nodes, edges } = makeGraph()
  const layout = layOut(nodes, edges)
  const places = [...layout.places.values()]

  test('shows each, and no two overlap', () => {
    expect(places).toHaveLength(200)
    for (const [index, one] of places.entries()) {
      for (const other of places.slice(index + 1)) {
        const apart = Math.abs(one.x - other.x) >= NODE_WIDTH || Math.abs(one.y - other.y) >= NODE_HEIGHT
        expect(apart, `${JSON.stringify(one)} ${JSON.stringify(other)}`).toBe(true)
      }
    }
  })

  test('is inside its frame, which is no strip', () => {
    for (const { x, y } of places) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
      expect(x + NODE_WIDTH).toBeLessThanOrEqual(layout.width)
      expect(y + NODE_HEIGHT).toBeLessThanOrEqual(layout.height)
    }
    expect(layout.width / layout.height).toBeGreaterThan(0.8)
    expect(layout.width / layout.height).toBeLessThan(2.5)
  })

  test('has layers by distance from left to right', () => {
    expect(layout.layers.map((layer) => layer.length)).toEqual([1, 12, 67, 120])
    for (const { key, distance } of nodes) expect(layout.places.get(key)!.layer).toBe(distance)
  })

  test('is the same whatever the order of what it is made of', () => {
    const again = layOut([...nodes].reverse(), [...edges].reverse().map(([one, other]) => [other, one] as const))
    expect([...again.places].sort()).toEqual([...layout.places].sort())
  })

  test('has every item within reach of the arrow keys', () => {
    const neighbors = buildNeighbors(edges)
    const reached = new Set(['task-1'])
    for (const key of reached) {
      for (const arrow of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']) {
        const next = findNext(layout, neighbors, key, arrow)
        if (next) reached.add(next)
      }
      expect(findNext(layout, neighbors, key, 'Home')).toBe('task-1')
    }
    expect(reached.size).toBe(200)
  })
})

test('arrows to the sides go along relations, and end where there are none', () => {
  const edges: Edge[] = [
    ['a-1', 'b-1'],
    ['a-1', 'b-2'],
    ['b-2', 'c-1'],
  ]
  const layout = layOut([{ key: 'a-1', distance: 0 }, { key: 'b-1', distance: 1 }, { key: 'b-2', distance: 1 }, { key: 'c-1', distance: 2 }], edges)
  const go = (from: string, key: string) => findNext(layout, buildNeighbors(edges), from, key)
  expect(go('b-2', 'ArrowRight')).toBe('c-1')
  expect(go('c-1', 'ArrowLeft')).toBe('b-2')
  expect(go('b-1', 'ArrowRight')).toBeNull()
  expect(go('b-1', 'ArrowDown')).toBe('b-2')
  expect(go('a-1', 'ArrowLeft')).toBeNull()
  expect(go('gone-1', 'ArrowLeft')).toBeNull()
  expect(go('a-1', 'x')).toBeNull()
})

test('an item alone, cycles, and relations to itself or to what is not shown', () => {
  expect(layOut([{ key: 'a-1', distance: 0 }], []).layers).toEqual([['a-1']])
  const cycle = layOut([{ key: 'a-1', distance: 0 }, { key: 'a-2', distance: 1 }, { key: 'a-3', distance: 1 }], [
    ['a-1', 'a-2'],
    ['a-2', 'a-3'],
    ['a-3', 'a-1'],
    ['a-1', 'a-1'],
    ['a-3', 'z-9'],
  ])
  expect(cycle.places.size).toBe(3)
  expect(layOut([], []).places.size).toBe(0)
  const [one, other] = [cycle.places.get('a-2')!, cycle.places.get('a-3')!]
  expect(drawEdge(one, other)).toMatch(/^M[\d.]+ [\d.]+C/)
  expect(drawEdge(cycle.places.get('a-1')!, one)).toBe(drawEdge(one, cycle.places.get('a-1')!))
})

test('keys are ordered by type and number', () => {
  expect(['task-10', 'task-9', 'bug-report-2', 'bug-3'].sort(compareKeys)).toEqual(['bug-3', 'bug-report-2', 'task-9', 'task-10'])
})

test('types are listed by how frequent they are, and colors are used again', () => {
  expect(listTypes(['b', 'a', 'b', 'c'], 2)).toEqual([
    { type: 'b', count: 2, color: 0 },
    { type: 'a', count: 1, color: 1 },
    { type: 'c', count: 1, color: 0 },
  ])
})
