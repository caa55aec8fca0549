import { expect, test } from 'vitest'
import { countByService, countFailing } from './health.ts'

const figures = (module: string, calls: number) => ({ module, calls, errors: 1, denied: 2 })

test('services are counted, what fails first, and made-up names left out', () => {
  const rows = countByService(
    [
      { module: 'notion', state: 'connected', count: 70_000 },
      { module: 'notion', state: 'refreshing', count: 2 },
      { module: 'jira', state: 'needs_reconnect', count: 3 },
      { module: 'jira', state: 'disabled', count: 1 },
    ],
    [figures('github', 9), figures('notion', 3), figures('', 50)],
  )
  expect(rows.map(({ module, working, failing, missing }) => [module, working, failing, missing])).toEqual([
    ['jira', 0, 3, 1],
    ['github', 0, 0, 0],
    ['notion', 70_002, 0, 0],
  ])
})

test('what passes by itself is not among what fails', () => {
  const counts = (['connected', 'refreshing', 'disabled', 'vendor_down', 'refused'] as const).map((state) => ({ state, count: 5 }))
  expect(countFailing(counts)).toBe(10)
  expect(countFailing([])).toBe(0)
})
