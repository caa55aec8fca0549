import { expect, test } from 'vitest'
import { messages } from '../../messages/en/index.ts'
import { readFilters, buildQuery } from './filters.ts'
import { computeShare, findReason, isRetriable, mayTakeEffectTwice } from './jobStates.ts'

const STATES = ['running', 'failed'] as const

test.each([
  ['failed', '', true, 'refused'],
  ['failed', '', false, 'refusedOfOther'],
  ['failed', 'worker_lost', false, 'worker_lost'],
  ['unknown', '', true, 'outcome_unknown'],
  ['unknown', 'restored', true, 'restored'],
  ['cancelled', '', true, 'cancelled'],
] as const)('a job that is %s by "%s" says why', (state, error, isOwn, reason) => {
  expect(findReason({ state, error, attempt: 1 }, isOwn)).toBe(reason)
  expect(messages.jobs.reasons[reason]?.next).toBeTruthy()
})

test('one that never began did nothing, and one that has a result needs no reason', () => {
  expect(findReason({ state: 'cancelled', error: '', attempt: 0 }, true)).toBe('cancelledBefore')
  expect(findReason({ state: 'succeeded', error: '', attempt: 1 }, true)).toBeNull()
  expect(findReason({ state: 'running', error: '', attempt: 1 }, true)).toBeNull()
})

test('only what began and may not run twice can take effect twice', () => {
  expect(mayTakeEffectTwice({ is_repeatable: false, attempt: 1 })).toBe(true)
  expect(mayTakeEffectTwice({ is_repeatable: true, attempt: 1 })).toBe(false)
  expect(mayTakeEffectTwice({ is_repeatable: false, attempt: 0 })).toBe(false)
})

test('what asks its person something is not tried again', () => {
  expect(isRetriable({ state: 'failed', error: 'input_required' })).toBe(false)
  expect(isRetriable({ state: 'failed', error: '' })).toBe(true)
})

test.each([
  [1, 4, 0.25],
  [9, 4, 1],
  [-1, 4, 0],
  [1, 0, null],
  [1, -3, null],
  [1, null, null],
  [null, 4, null],
])('%s of %s is %s', (progress, total, share) => {
  expect(computeShare({ progress, total })).toBe(share)
})

test('filters that are not for this person or this list fall away', () => {
  const search = { of: 'all', state: 'paused', user: 'u' } as const
  expect(buildQuery(readFilters(search, STATES, false))).toEqual({})
  expect(buildQuery(readFilters(search, STATES, true))).toEqual({ user: 'u' })
  expect(buildQuery(readFilters({ of: 'all', state: 'failed' }, STATES, true))).toEqual({ all_owners: true, state: 'failed' })
})
