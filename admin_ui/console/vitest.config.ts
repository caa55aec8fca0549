import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Logic without a page needs no jsdom, half a second a file; a test that does begins with `@vitest-environment jsdom`.
  test: { include: ['src/**/*.test.{ts,tsx}'], isolate: false },
})
