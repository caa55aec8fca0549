import { describe, expect, test } from 'vitest'
import { setTimeZone } from '../../messages/format.ts'
import { buildExportUrl, buildLogQuery, joinNewest, type LogFilters } from './filters.ts'

const NOW = Date.UTC(2026, 10, 24, 12)

describe('the query of the API', () => {
  test.each<[LogFilters, object]>([
    [{}, {}],
    [{ since: '1h' }, { since: '2026-11-24T11:00:00.000Z' }],
    [{ tool: 'notion' }, { module: 'notion' }],
    [{ tool: ' notion.search_pages' }, { module: 'notion', tool: 'search_pages' }],
    [{ tool: 'a.b.c' }, { module: 'a', tool: 'b.c' }],
    [{ from: '2026-11-23', to: '2026-11-23' }, { since: '2026-11-22T15:00:00.000Z', until: '2026-11-23T15:00:00.000Z' }],
    [{ from: '2026-11-23', since: '1h' }, { since: '2026-11-22T15:00:00.000Z' }],
    [{ request: 'r1', outcome: 'denied', kind: 'call' }, { request_id: 'r1', outcome: 'denied', kind: 'call' }],
  ])('of %j', (filters, query) => {
    setTimeZone('Asia/Tokyo')
    expect(buildLogQuery(filters, NOW)).toEqual(query)
  })

  test('of a day that begins or ends summer time', () => {
    setTimeZone('Europe/Berlin')
    const query = buildLogQuery({ from: '2026-03-29', to: '2026-03-29' }, NOW)
    expect(query).toEqual({ since: '2026-03-28T23:00:00.000Z', until: '2026-03-29T22:00:00.000Z' })
  })

  test('is that of the export', () => {
    expect(buildExportUrl({ tool: 'a&b.c' }, 'csv', NOW)).toBe('/api/v1/audit/export?module=a%26b&tool=c&form=csv')
  })
})

describe('the newest entries', () => {
  const rows = (...numbers: number[]) => numbers.map((seq) => ({ seq, state: 'old' }))
  test.each([
    [[3, 2], [5, 4, 3], [5, 4, 3, 2]],
    [[3, 2], [3, 2], [3, 2]],
    [[], [2, 1], [2, 1]],
    [[2, 1], [], [2, 1]],
  ])('%j and %j are %j', (known, newest, joined) => {
    expect(joinNewest(rows(...known), rows(...newest))!.map((row) => row.seq)).toEqual(joined)
  })

  test('replace what is known of the same number', () => {
    expect(joinNewest(rows(2, 1), [{ seq: 2, state: 'new' }])![0]!.state).toBe('new')
  })

  test('that do not meet the known ones leave a gap', () => {
    expect(joinNewest(rows(2, 1), rows(9, 8))).toBeNull()
  })
})
