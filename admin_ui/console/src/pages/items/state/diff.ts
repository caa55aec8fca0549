/** What differs between two texts, line by line (Myers, "An O(ND) difference algorithm", 1986). */

export interface Line {
  kind: 'same' | 'added' | 'taken'
  text: string
}

export interface Hunk {
  /** Lines that are the same and not shown before these. */
  skipped: number
  lines: readonly Line[]
}

/** Of the same lines, as many are shown around a difference. */
const CONTEXT = 3
/** Of more differences nobody reads a comparison, and finding them takes long. */
const MOST_DIFFERENCES = 1_000

/** Compare two texts; null where they differ in more than 1,000 lines. */
export function compareLines(before: string, after: string): Line[] | null {
  const [left, right] = [before.split('\n'), after.split('\n')]
  const trace = walk(left, right)
  return trace && readBack(trace, left, right)
}

/** How far each diagonal was reached with each number of differences; null where there are too many. */
function walk(left: readonly string[], right: readonly string[]): Map<number, number>[] | null {
  const furthest = new Map([[1, 0]])
  const trace: Map<number, number>[] = []
  const most = Math.min(left.length + right.length, MOST_DIFFERENCES)
  for (let differences = 0; differences <= most; differences += 1) {
    const reached = new Map<number, number>()
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      let x = isFromAbove(furthest, diagonal, differences) ? furthest.get(diagonal + 1)! : furthest.get(diagonal - 1)! + 1
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1
      furthest.set(diagonal, x)
      reached.set(diagonal, x)
      if (x >= left.length && x - diagonal >= right.length) return [...trace, reached]
    }
    trace.push(reached)
  }
  return null
}

/** Whether a diagonal is reached by a line that was added rather than by one that was taken away. */
function isFromAbove(furthest: ReadonlyMap<number, number>, diagonal: number, differences: number): boolean {
  if (diagonal === -differences) return true
  if (diagonal === differences) return false
  return (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1)
}

function readBack(trace: readonly ReadonlyMap<number, number>[], left: readonly string[], right: readonly string[]): Line[] {
  const lines: Line[] = []
  let [x, y] = [left.length, right.length]
  const passSame = (untilX: number, untilY: number) => {
    while (x > untilX && y > untilY) {
      lines.push({ kind: 'same', text: left[x - 1]! })
      x -= 1
      y -= 1
    }
  }
  for (let differences = trace.length - 1; differences > 0; differences -= 1) {
    const before = trace[differences - 1]!
    const diagonal = x - y
    const isAdded = isFromAbove(before, diagonal, differences)
    const fromX = before.get(isAdded ? diagonal + 1 : diagonal - 1)!
    const fromY = fromX - (isAdded ? diagonal + 1 : diagonal - 1)
    passSame(isAdded ? fromX : fromX + 1, isAdded ? fromY + 1 : fromY)
    if (isAdded) lines.push({ kind: 'added', text: right[y - 1]! })
    else lines.push({ kind: 'taken', text: left[x - 1]! })
    ;[x, y] = [fromX, fromY]
  }
  passSame(0, 0)
  return lines.reverse()
}

/** The differences with three lines around each. */
export function foldLines(lines: readonly Line[]): Hunk[] {
  const shown = lines.map(() => false)
  lines.forEach(({ kind }, place) => {
    if (kind !== 'same') shown.fill(true, Math.max(0, place - CONTEXT), place + CONTEXT + 1)
  })
  const hunks: { skipped: number; lines: Line[] }[] = []
  let skipped = 0
  lines.forEach((line, place) => {
    if (!shown[place]) {
      skipped += 1
    } else if (skipped > 0 || hunks.length === 0) {
      hunks.push({ skipped, lines: [line] })
      skipped = 0
    } else {
      hunks.at(-1)!.lines.push(line)
    }
  })
  return skipped > 0 ? [...hunks, { skipped, lines: [] }] : hunks
}
