// @vitest-environment jsdom
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hint } from '../api/events.ts'
import { rememberChange } from '../api/ownChanges.ts'
import { GATHER_MS, makeRefetch, MIN_GAP_MS } from './refetch.ts'

const OWN = 'a-request-of-this-page'
const LONGER = GATHER_MS + MIN_GAP_MS

let queries: QueryClient
let tell: (hint: Hint | 'everything') => void

/** A query that a page shows, and how often it was fetched. */
function show(...key: string[]) {
  const fetch = vi.fn(async () => key)
  const observer = new QueryObserver(queries, { queryKey: key, queryFn: fetch, staleTime: Infinity, retry: false })
  observer.subscribe(() => undefined)
  return fetch
}

const hint = (resource: string, request_id = ''): Hint => ({ resource, kind: 'role.changed', object_id: '', request_id })
const wait = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

beforeEach(() => {
  vi.useFakeTimers()
  queries = new QueryClient()
  tell = makeRefetch(queries)
})

afterEach(() => {
  queries.clear()
  vi.useRealTimers()
})

describe('what others change', () => {
  test('is fetched, with whatever else shows it', async () => {
    const [roles, users, tokens] = [show('roles', 'list'), show('users', 'list'), show('tokens')]
    await wait(1)
    tell(hint('roles'))
    tell(hint('roles', 'a-request-of-another-tab'))
    await wait(LONGER)
    expect([roles, users, tokens].map((fetch) => fetch.mock.calls.length)).toEqual([2, 2, 1])
  })

  test('is fetched even if the page has changed something at the same time', async () => {
    const roles = show('roles', 'list')
    await wait(1)
    rememberChange(OWN)
    await queries.invalidateQueries({ queryKey: ['roles'] })
    tell(hint('roles', OWN))
    tell(hint('roles'))
    await wait(LONGER)
    expect(roles).toHaveBeenCalledTimes(3)
  })
})

describe('what the page itself has changed', () => {
  test('is fetched once, and what the page has not fetched is', async () => {
    const [list, users] = [show('roles', 'list'), show('users', 'list')]
    await wait(1)
    rememberChange(OWN)
    await queries.invalidateQueries({ queryKey: ['roles'] })
    await wait(50)
    const panel = show('roles', 'one')
    tell(hint('roles', OWN))
    await wait(LONGER)
    expect([list, panel, users].map((fetch) => fetch.mock.calls.length)).toEqual([2, 1, 2])
  })

  test('is fetched again where it was asked for before the answer', async () => {
    const roles = show('roles', 'list')
    await wait(1)
    await queries.invalidateQueries({ queryKey: ['roles'] })
    await wait(1)
    rememberChange(OWN)
    tell(hint('roles', OWN))
    await wait(LONGER)
    expect(roles).toHaveBeenCalledTimes(3)
  })

  test('is fetched again where fetching has failed', async () => {
    const roles = show('roles', 'list')
    await wait(1)
    rememberChange(OWN)
    roles.mockRejectedValueOnce(new Error('no answer'))
    await queries.invalidateQueries({ queryKey: ['roles'] })
    tell(hint('roles', OWN))
    await wait(LONGER)
    expect(roles).toHaveBeenCalledTimes(3)
  })

  test('does not keep a gap of the stream from being closed', async () => {
    const roles = show('roles', 'list')
    await wait(1)
    rememberChange(OWN)
    await queries.invalidateQueries({ queryKey: ['roles'] })
    tell(hint('roles', OWN))
    tell('everything')
    await wait(LONGER)
    expect(roles).toHaveBeenCalledTimes(3)
  })
})
