import type { DayScale } from './days.ts'
import { readEntries, type ShownEntry } from './entries.ts'
import { placeEntries, type Placement } from './lanes.ts'
import type { ActivitySummary } from './queries.ts'

/** Height of an hour, px. */
export const HOUR_HEIGHT = 44
/** An entry is at least as high as it can be pressed. */
const LEAST_MS = (26 / HOUR_HEIGHT) * 3_600_000

export interface Cell extends ShownEntry {
  /** None for what lasts whole days, which stands above. */
  placement: Placement | null
}

/** A day, or a source of one day. */
export interface Column {
  key: string
  /** The source, where it is one of a day. */
  source: string | null
  scale: DayScale
  /** Those of whole days, then the others by time. */
  cells: readonly Cell[]
}

/** A column for each day; of one day alone for each source that is connected or has entries. */
export function buildColumns({ days, sources: all }: Pick<ActivitySummary, 'days' | 'sources'>, scales: readonly DayScale[]): Column[] {
  if (days.length !== 1) return days.map((day, place) => buildColumn(day.date, null, readEntries(day, scales[place]!), scales[place]!))
  const [day, scale] = [days[0]!, scales[0]!]
  const entries = readEntries(day, scale)
  const connected = all.filter((one) => one.connected).map(({ source }) => source)
  const sources = [...new Set([...connected, ...entries.map(({ entry }) => entry.source)])]
  return sources.map((source) => buildColumn(source, source, entries.filter(({ entry }) => entry.source === source), scale))
}

function buildColumn(key: string, source: string | null, entries: readonly ShownEntry[], scale: DayScale): Column {
  const whole = entries.filter(({ isAllDay }) => isAllDay).map((one) => ({ ...one, placement: null }))
  const timed = entries.filter(({ isAllDay }) => !isAllDay)
  const placed = placeEntries(timed, scale, LEAST_MS).map((placement) => ({ ...timed[placement.index]!, placement }))
  return { key, source, scale, cells: [...whole, ...placed] }
}

export interface Spot {
  column: number
  cell: number
}

/**
 * Where an arrow key leads: up and down by time, to the sides to what is nearest in time in the next column that has
 * something; `Home` and `End` to the first and the last of the column.
 */
export function findNextSpot(columns: readonly Column[], { column, cell }: Spot, key: string): Spot | null {
  const cells = columns[column]?.cells ?? []
  const at = (place: number) => (place >= 0 && place < cells.length && place !== cell ? { column, cell: place } : null)
  if (key === 'ArrowUp') return at(cell - 1)
  if (key === 'ArrowDown') return at(cell + 1)
  if (key === 'Home') return at(0)
  if (key === 'End') return at(cells.length - 1)
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key]
  if (!step || !cells[cell]) return null
  const wanted = measure(columns[column]!, cell)
  for (let place = column + step; place >= 0 && place < columns.length; place += step) {
    const other = columns[place]!
    if (other.cells.length === 0) continue
    const distances = other.cells.map((_, index) => Math.abs(measure(other, index) - wanted))
    return { column: place, cell: distances.indexOf(Math.min(...distances)) }
  }
  return null
}

/** Milliseconds from the beginning of the day; what lasts whole days is before everything else. */
function measure({ cells, scale }: Column, place: number): number {
  const { isAllDay, start } = cells[place]!
  return isAllDay ? -1 : start - scale.start
}
