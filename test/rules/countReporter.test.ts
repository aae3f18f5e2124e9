/** The last line of a test run counts everything that makes the run fail. */
import { spawnSync } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './source.ts'

const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs')
const REPORTER = path.join(ROOT, 'test/support/countReporter.ts')

const FILES = {
  'ended.test.mjs': `it('is the one', async () => { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}) })`,
  'late.test.mjs': `it('passes', () => setTimeout(() => { throw new Error('too late') }))`,
  'notLoaded.test.mjs': `import './none.mjs'`,
}

it('tests that did not end, errors outside of a test and files that cannot be loaded count as failed', () => {
  using folder = mkdtempDisposableSync(path.join(tmpdir(), 'tidemark-count-'))
  const config = path.join(folder.path, 'vitest.config.mjs')
  writeFileSync(config, `export default { test: { globals: true, reporters: ['${REPORTER}'] } }`)
  for (const [file, tests] of Object.entries(FILES)) writeFileSync(path.join(folder.path, file), tests)
  const { stdout } = spawnSync(process.execPath, [VITEST, 'run', '--root', folder.path, '--config', config])
  const lines = stdout.toString().trimEnd().split('\n')
  expect(lines).toContain(' FAIL  ended.test.mjs > is the one')
  expect(lines.join('\n')).toContain('SIGKILL')
  expect(lines).toContain('Error: too late')
  // The killed process is one more error.
  expect(lines.at(-1)).toBe('1 passed, 4 failed, 0 skipped')
})
