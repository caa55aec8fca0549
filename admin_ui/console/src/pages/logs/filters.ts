import { readSort, type Sort } from '../../app/search.ts'
import { startOfDay } from '../../messages/format.ts'
import type { LogsSearch } from './route.ts'

/** What of the address the API filters and sorts by. */
export type LogFilters = Pick<LogsSearch, 'since' | 'from' | 'to' | 'user' | 'tool' | 'outcome' | 'kind' | 'request' | 'sort'>

/** The API can sort by it. */
export const LOG_SORTS = ['occurred_at'] as const

export type LogSort = Sort<(typeof LOG_SORTS)[number]>

/** The order of the list; newest first where the address does not say. */
export function readOrder(filters: LogFilters): LogSort {
  return readSort(filters.sort, LOG_SORTS) ?? { key: 'occurred_at', descending: true }
}

export interface LogQuery {
  since?: string
  until?: string
  user?: string
  module?: string
  tool?: string
  outcome?: string
  kind?: string
  request_id?: string
}

const HOUR_MS = 3_600_000
const SPAN_MS = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS, '30d': 720 * HOUR_MS } as const

/** The query of the API for these filters. */
export function buildLogQuery(filters: LogFilters, now: number): LogQuery {
  const { since, from, to, user, outcome, kind, request } = filters
  const [module, tool] = splitTool(filters.tool ?? '')
  const begin = from ? startOfDay(from).toISOString() : since && new Date(now - SPAN_MS[since]).toISOString()
  return {
    ...(begin && { since: begin }),
    ...(to && { until: startOfDay(to, 1).toISOString() }),
    ...(user && { user }),
    ...(module && { module }),
    ...(tool && { tool }),
    ...(outcome && { outcome }),
    ...(kind && { kind }),
    ...(request && { request_id: request }),
  }
}

/** `notion.search_pages` is a service and its tool, `notion` a service. */
function splitTool(text: string): [module: string, tool: string] {
  const dot = text.indexOf('.')
  return dot < 0 ? [text.trim(), ''] : [text.slice(0, dot).trim(), text.slice(dot + 1).trim()]
}

/** Address of the export with the same filters. */
export function buildExportUrl(filters: LogFilters, form: 'csv' | 'jsonl', now: number): string {
  return `/api/v1/audit/export?${new URLSearchParams({ ...buildLogQuery(filters, now), form })}`
}

interface Numbered {
  seq: number
}

/**
 * The newest entries, put before those that are known: of one that is known the newer state counts.
 * @returns null where they do not meet: something between them is missing.
 */
export function joinNewest<Row extends Numbered>(known: readonly Row[], newest: readonly Row[]): Row[] | null {
  const bySeq = new Map(newest.map((row) => [row.seq, row]))
  const meet = known.length === 0 || newest.length === 0 || known.some((row) => bySeq.has(row.seq))
  if (!meet) return null
  const kept = new Set(known.map((row) => row.seq))
  return [...newest.filter((row) => !kept.has(row.seq)), ...known.map((row) => bySeq.get(row.seq) ?? row)]
}
