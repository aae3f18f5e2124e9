/** The tests that need a container engine: `npm run test:containers`. `npm test` needs none and leaves them out. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/containers/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
    globalSetup: ['./test/support/containerEngine.ts'],
    reporters: ['default', './test/support/countReporter.ts'],
  },
})
