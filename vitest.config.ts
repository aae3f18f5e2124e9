import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These need a container engine, a registry or DuckDB's extensions, and have commands of their own: npm run
    // test:containers, test:install, test:lake.
    exclude: ['test/containers/**', 'test/install/**', 'test/lake/**'],
    globalSetup: ['./test/support/redis.ts', './test/support/chromium.ts'],
    // Ends what hangs, also on a machine ten times as slow; how long something takes is told by bench/ alone.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Two cores: real servers and DuckDB files share them, so more forks only make each other slow.
    maxWorkers: 2,
    reporters: ['default', './test/support/countReporter.ts'],
  },
})
