/** The console's bundle: static files with hashed names. The server adds the Content-Security-Policy and its nonce. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = dirname(fileURLToPath(import.meta.url))

export default defineConfig({
  root: here,
  base: '/',
  cacheDir: join(here, '..', 'dist', '.vite'),
  build: {
    outDir: join(here, '..', 'dist', 'console-pages'),
    emptyOutDir: true,
    target: 'es2022',
    // An asset inlined as data: would need an exception in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      // Marks for frameworks that render on a server mean nothing here, and a slow machine is no mistake.
      checks: { moduleLevelDirective: false, bundlerTimings: false },
    },
  },
})
