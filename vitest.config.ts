/**
 * The tests, as projects that the scripts of package.json choose by name. `short` and `long` need Redis and Chromium,
 * which they install where that is possible. The others need a container engine, a registry or DuckDB's extensions.
 * docs/TESTING.md explains which command runs which project.
 */
import { defineConfig } from 'vitest/config'
import LongestFirst from './test/support/longestFirst.ts'

const LONG = 'test/**/*.long.test.ts'
const ELSEWHERE = ['test/containers/**', 'test/install/**', 'test/lake/**']
const SETUP = ['redis', 'chromium', 'templatesFolder'].map((name) => `./test/support/${name}.ts`)
const TIMES = process.env['TIDEMARK_TEST_TIMES'] === undefined ? [] : ['./test/support/timesReporter.ts']
/** The tests of whole runs are repeated with a lake as the warehouse, also with history and privacy. */
const WHOLE_RUNS = 'test/sync/conformance*.test.ts'

export default defineConfig({
  // The entry of the library loads it with Node's own loader, so that the tests would have a second copy of each module.
  resolve: { alias: { tidemark: new URL('src/library/index.ts', import.meta.url).pathname } },
  test: {
    // The limits only end tests that hang, also on a machine that is ten times slower. No test asserts a duration.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    setupFiles: ['processorTime', 'compiled', 'drawnValues', 'registeredReports'].map(
      (name) => `./test/support/${name}.ts`,
    ),
    tags: [{ name: 'long', description: 'runs in `npm run test:long`, not in `npm test` (docs/TESTING.md)' }],
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/countReporter.ts', ...TIMES],
    projects: [
      {
        extends: true,
        // Test files share the loaded modules of a process: a file must leave no global state behind.
        test: {
          name: 'short',
          include: ['test/**/*.test.ts'],
          exclude: [LONG, ...ELSEWHERE],
          globalSetup: SETUP,
          isolate: false,
        },
      },
      { extends: true, test: { name: 'long', include: [LONG], globalSetup: SETUP, isolate: false } },
      lake('lake', { include: ['test/lake/**/*.test.ts'] }),
      lake('lake-sqlite', { include: [WHOLE_RUNS], env: { TIDEMARK_TEST_LAKE: 'sqlite' } }),
      lake('lake-postgres', { include: [WHOLE_RUNS], env: { TIDEMARK_TEST_LAKE: 'postgres' } }),
      lake('lake-storage', { include: [WHOLE_RUNS], env: { TIDEMARK_TEST_LAKE: 'storage' } }),
      {
        extends: true,
        test: {
          name: 'containers',
          include: ['test/containers/**/*.test.ts'],
          globalSetup: ['./test/support/containerEngine.ts'],
          // Each file starts a deployment, which has the memory and both cores of a small machine.
          maxWorkers: 1,
          testTimeout: 900_000,
        },
      },
      { extends: true, test: { name: 'install', include: ['test/install/**/*.test.ts'] } },
    ],
    // Two cores; the third process uses them while the other two wait for a process or for the disk.
    maxWorkers: 3,
  },
})

/** Each statement on a lake queries its catalogue, which takes about ten times as long as on a file. */
function lake(name: string, more: { include: string[]; env?: Record<string, string> }) {
  const limits = { testTimeout: 600_000, hookTimeout: 600_000, maxWorkers: 1 }
  return { extends: true as const, test: { name, globalSetup: ['./test/support/extensions.ts'], ...limits, ...more } }
}
