/**
 * The tests that need DuckDB's extensions: `npm run test:lake`. `npm test` needs none and leaves them out. The extensions
 * come from TIDEMARK_EXTENSIONS, or are fetched as Python packages into node_modules/.cache. Beside the tests of test/lake
 * those of the whole run are done again with a lake for a warehouse, also with history and privacy: the same promises,
 * row for row.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Each statement asks the catalogue anew: some ten times what a file takes, and more on a machine that others use.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 1,
    globalSetup: ['./test/support/extensions.ts'],
    reporters: ['default', './test/support/countReporter.ts'],
    projects: [
      { extends: true, test: { name: 'own', include: ['test/lake/**/*.test.ts'] } },
      ...['sqlite', 'postgres'].map((name) => ({
        extends: true as const,
        test: { name, include: ['test/sync/conformance*.test.ts'], env: { TIDEMARK_TEST_LAKE: name } },
      })),
    ],
  },
})
