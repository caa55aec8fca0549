import { expect, test } from 'vitest'
import { formatRelativeTime } from '../../messages/format.ts'
import { isAboutToEnd } from './expiry.ts'

const NOW = Date.parse('2026-11-27T12:00:00Z')

test.each([
  ['2026-11-27T11:59:00Z', true],
  ['2026-11-27T12:00:59Z', true],
  ['2026-11-27T12:01:00Z', false],
])('of %s, nothing says "next now"', (end, isAbout) => {
  expect(isAboutToEnd(end, NOW)).toBe(isAbout)
  if (!isAbout) expect(formatRelativeTime('en', end, new Date(NOW))).not.toBe('now')
})
