/**
 * Where the items of a picture of relations stand: in layers from left to right, by their distance from the one in the
 * middle of it all. A layer that is too high is divided into columns side by side, the second one half a row lower, so
 * that its lines pass between the rows of the first. Nothing overlaps, and the same relations give the same picture.
 */

export const NODE_WIDTH = 200
export const NODE_HEIGHT = 28
export const MARGIN = 16
const ROW = 38
const COLUMN_GAP = 20
const LAYER_GAP = 90
/** Width to height of the picture that is aimed at. */
const SHAPE = 1.5
const SWEEPS = 4

export interface GraphNode {
  key: string
  distance: number
}

export interface Place {
  /** Of the upper left corner. */
  x: number
  y: number
  layer: number
  /** From above in its layer. */
  order: number
}

export interface GraphLayout {
  width: number
  height: number
  places: ReadonlyMap<string, Place>
  /** Keys by layer, from above. */
  layers: readonly (readonly string[])[]
}

export type Edge = readonly [string, string]

export function layOut(nodes: readonly GraphNode[], edges: readonly Edge[]): GraphLayout {
  const layers = orderLayers(nodes, buildNeighbors(edges))
  const rows = chooseRows(layers.map((layer) => layer.length))
  const shapes = layers.map((layer) => measureLayer(layer.length, rows))
  const height = Math.max(0, ...shapes.map((shape) => shape.height)) + 2 * MARGIN
  const places = new Map<string, Place>()
  let left = MARGIN
  layers.forEach((layer, number) => {
    const { columns, width, height: own } = shapes[number]!
    const top = (height - own) / 2
    layer.forEach((key, order) => {
      const column = order % columns
      const y = top + Math.floor(order / columns) * ROW + (column % 2) * (ROW / 2)
      places.set(key, { x: left + column * (NODE_WIDTH + COLUMN_GAP), y, layer: number, order })
    })
    left += width + LAYER_GAP
  })
  return { width: Math.max(0, left - LAYER_GAP) + MARGIN, height, places, layers }
}

/** Who is related to whom, in both directions; each list by key. */
export function buildNeighbors(edges: readonly Edge[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  const add = (from: string, to: string) => {
    const known = found.get(from)
    if (known) known.add(to)
    else found.set(from, new Set([to]))
  }
  for (const [one, other] of edges) {
    if (one === other) continue
    add(one, other)
    add(other, one)
  }
  return new Map([...found].map(([key, others]) => [key, [...others].sort(compareKeys)]))
}

/** By type, then by number: `task-9` before `task-10`. */
export function compareKeys(left: string, right: string): number {
  const [leftAt, rightAt] = [left.lastIndexOf('-'), right.lastIndexOf('-')]
  const [leftType, rightType] = [left.slice(0, leftAt), right.slice(0, rightAt)]
  if (leftType !== rightType) return leftType < rightType ? -1 : 1
  return Number(left.slice(leftAt + 1)) - Number(right.slice(rightAt + 1))
}

/** Put what is related at the same height: each item at the mean of its neighbors' in the layer before, then after. */
function orderLayers(nodes: readonly GraphNode[], neighbors: ReadonlyMap<string, readonly string[]>): string[][] {
  const layers: string[][] = []
  for (const { key, distance } of nodes) (layers[distance] ??= []).push(key)
  const found = layers.filter((layer) => layer !== undefined)
  for (const layer of found) layer.sort(compareKeys)
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0
    for (let step = 1; step < found.length; step += 1) {
      const place = forward ? step : found.length - 1 - step
      sortByNeighbors(found[place]!, found[forward ? place - 1 : place + 1]!, neighbors)
    }
  }
  return found
}

function sortByNeighbors(layer: string[], beside: readonly string[], neighbors: ReadonlyMap<string, readonly string[]>): void {
  const heights = new Map(beside.map((key, order) => [key, (order + 0.5) / beside.length]))
  const wanted = new Map(
    layer.map((key, order) => {
      const near = (neighbors.get(key) ?? []).flatMap((other) => heights.get(other) ?? [])
      return [key, near.length > 0 ? near.reduce((sum, one) => sum + one, 0) / near.length : (order + 0.5) / layer.length]
    }),
  )
  layer.sort((left, right) => wanted.get(left)! - wanted.get(right)! || compareKeys(left, right))
}

/** As many rows as make the picture nearest to its shape. */
function chooseRows(sizes: readonly number[]): number {
  let best = 1
  let least = Infinity
  for (let rows = 1; rows <= Math.max(1, ...sizes); rows += 1) {
    const shapes = sizes.map((size) => measureLayer(size, rows))
    const width = shapes.reduce((sum, shape) => sum + shape.width + LAYER_GAP, 0)
    const size = Math.max(width / SHAPE, ...shapes.map((shape) => shape.height))
    if (size < least) [best, least] = [rows, size]
  }
  return best
}

function measureLayer(size: number, rows: number): { columns: number; width: number; height: number } {
  const columns = Math.max(1, Math.ceil(size / rows))
  const used = Math.ceil(size / columns)
  return {
    columns,
    width: columns * NODE_WIDTH + (columns - 1) * COLUMN_GAP,
    height: (used - 1) * ROW + NODE_HEIGHT + (columns > 1 ? ROW / 2 : 0),
  }
}

/** Path of a line between two items, below which they stand. */
export function drawEdge(one: Place, other: Place): string {
  const [from, to] = one.x <= other.x ? [one, other] : [other, one]
  const [startY, endY] = [from.y + NODE_HEIGHT / 2, to.y + NODE_HEIGHT / 2]
  const startX = from.x + NODE_WIDTH
  if (from.layer === to.layer) {
    // A bow on the side that leads on, beyond both.
    const bow = Math.max(startX, to.x + NODE_WIDTH) + LAYER_GAP / 2
    return `M${startX} ${startY}C${bow} ${startY} ${bow} ${endY} ${to.x + NODE_WIDTH} ${endY}`
  }
  const bend = Math.max(LAYER_GAP / 2, (to.x - startX) / 2)
  return `M${startX} ${startY}C${startX + bend} ${startY} ${to.x - bend} ${endY} ${to.x} ${endY}`
}

/**
 * The item that an arrow key leads to: to the right along a relation to one that is further away, to the left nearer, and
 * up and down through the layer; `Home` to the middle. Null where nothing is.
 */
export function findNext(
  { layers, places }: GraphLayout,
  neighbors: ReadonlyMap<string, readonly string[]>,
  from: string,
  key: string,
): string | null {
  const here = places.get(from)
  if (!here) return null
  if (key === 'Home') return layers[0]?.[0] ?? null
  if (key === 'ArrowUp') return layers[here.layer]?.[here.order - 1] ?? null
  if (key === 'ArrowDown') return layers[here.layer]?.[here.order + 1] ?? null
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (!step) return null
  const reached = (neighbors.get(from) ?? []).filter((other) => ((places.get(other)?.layer ?? here.layer) - here.layer) * step > 0)
  return reached.reduce<string | null>((best, other) => {
    const distance = (one: string) => Math.abs(places.get(one)!.y - here.y)
    return best === null || distance(other) < distance(best) ? other : best
  }, null)
}

/** The types of a picture, the most frequent first, each with the number of its color. */
export function listTypes(types: readonly string[], colors: number): { type: string; count: number; color: number }[] {
  const counts = new Map<string, number>()
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts]
    .map(([type, count]) => ({ type, count }))
    .sort((left, right) => right.count - left.count || (left.type < right.type ? -1 : 1))
    .map((one, place) => ({ ...one, color: place % colors }))
}
