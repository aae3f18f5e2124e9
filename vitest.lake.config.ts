/**
 * The tests that need DuckDB's extensions: `npm run test:lake`. `npm test` needs none and leaves them out. The extensions
 * come from TIDEMARK_EXTENSIONS, or are fetched as Python packages into node_modules/.cache.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/lake/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
    globalSetup: ['./test/support/extensions.ts'],
    reporters: ['default', './test/support/countReporter.ts'],
  },
})
