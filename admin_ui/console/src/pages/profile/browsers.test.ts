import { expect, test } from 'vitest'
import { nameBrowser } from './browsers.ts'

const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

test.each([
  [CHROME, 'Chrome · Windows'],
  [`${CHROME} Edg/140.0.0.0`, 'Edge · Windows'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0', 'Firefox · Linux'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Mobile Safari/604', 'Safari · iOS'],
  ['Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36', 'Chrome · Android'],
  ['python-httpx2/1.0', null],
  ['', null],
])('%s', (userAgent, name) => {
  expect(nameBrowser(userAgent)).toBe(name)
})
