/** The last line of a test run counts everything that makes the run fail. */
import { spawnSync } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './source.ts'

const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs')
const REPORTER = path.join(ROOT, 'test/support/countReporter.ts')

/** Runs one test file and returns the lines behind the runner's own report. */
function run(tests: string): string[] {
  using folder = mkdtempDisposableSync(path.join(tmpdir(), 'tidemark-count-'))
  const config = path.join(folder.path, 'vitest.config.mjs')
  writeFileSync(config, `export default { test: { globals: true, reporters: ['${REPORTER}'] } }`)
  writeFileSync(path.join(folder.path, 'a.test.mjs'), tests)
  const { stdout } = spawnSync(process.execPath, [VITEST, 'run', '--root', folder.path, '--config', config])
  return stdout.toString().trimEnd().split('\n')
}

it('tests whose process ends before them count as failed and are named', () => {
  const lines = run(
    `it('is the one', async () => { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}) })`,
  )
  expect(lines).toContain(' FAIL  a.test.mjs > is the one')
  expect(lines.join('\n')).toContain('SIGKILL')
  expect(lines.at(-1)).toBe('0 passed, 2 failed, 0 skipped')
})

it('errors outside of a test count as failed and are named', () => {
  const lines = run(`it('passes', () => setTimeout(() => { throw new Error('too late') }))`)
  expect(lines).toContain('Error: too late')
  expect(lines.at(-1)).toBe('1 passed, 1 failed, 0 skipped')
})

it('a file that cannot be loaded counts as failed', () => {
  expect(run(`import './none.mjs'`).at(-1)).toBe('0 passed, 1 failed, 0 skipped')
})
