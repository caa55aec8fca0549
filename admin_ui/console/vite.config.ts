import { fileURLToPath } from 'node:url'
import optimizeLocales from '@react-aria/optimize-locales-plugin'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressFiles } from './build/compress.ts'
import { patchReactAria } from './build/react-aria.ts'

// tools/console.py names a temporary folder and renames it; by hand the output goes beside it.
const outDir = process.env.CONSOLE_OUT ?? fileURLToPath(new URL('../console_dist', import.meta.url))
const product = process.env.MCPIST_SERVER ?? 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  plugins: [
    { ...optimizeLocales.vite({ locales: ['en-US', 'ja-JP'] }), enforce: 'pre' },
    patchReactAria(),
    react(),
    compressFiles(),
  ],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    // No data: URLs, which the policy forbids; no polyfill, which would be one more script for nobody.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  server: {
    port: 5173,
    strictPort: true,
    // The product's MCPIST_PUBLIC_URL has to be http://127.0.0.1:5173 then, or it refuses every change as another site's.
    proxy: Object.fromEntries(
      ['/api', '/oauth', '/connect', '/sign-in', '/sign-out', '/signed-out', '/account', '/login'].map((path) => [
        path,
        { target: product, changeOrigin: false },
      ]),
    ),
  },
})
