import { expect, test } from 'vitest'
import { countByService } from './health.ts'

const figures = (module: string, calls: number) => ({ module, calls, errors: 1, denied: 2 })

test('services are counted, what fails first, and made-up names left out', () => {
  const rows = countByService(
    [
      { module: 'notion', state: 'connected' },
      { module: 'jira', state: 'needs_reconnect' },
      { module: 'jira', state: 'needs_connect' },
    ],
    [figures('github', 9), figures('notion', 3), figures('', 50)],
  )
  expect(rows.map(({ module, working, failing, missing }) => [module, working, failing, missing])).toEqual([
    ['jira', 0, 1, 1],
    ['github', 0, 0, 0],
    ['notion', 1, 0, 0],
  ])
})
