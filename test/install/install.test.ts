/**
 * The package installed by npm, from the registry, into an empty folder with an empty home: `npx tidemark` runs there.
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { environment, packed, run } from '../pack/support.ts'

it('installs and syncs', { timeout: 600_000 }, async () => {
  await using made = await packed()
  const home = path.join(made.folder, 'home')
  const cwd = path.join(made.folder, 'empty')
  for (const folder of [home, cwd]) await mkdir(folder)
  // What the machine needs to reach its registry stays: proxies, and npm's own variables.
  const env = { ...process.env, ...environment(home) }
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', made.tarball], { cwd, env })
  const { stdout } = await run('npx', ['tidemark', '--version'], { cwd, env })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  await using sandbox = await startSandbox({ rows: 20 })
  const service = {
    REPORTING_BASE_URL: sandbox.url,
    REPORTING_CLIENT_ID: 'demo',
    REPORTING_CLIENT_SECRET: 'demo-secret',
  }
  await run('npx', ['tidemark', 'sync', 'events', '--quiet'], { cwd, env: { ...env, ...service } })
})

it.each([
  ['publint@0.3.25', 'publint', '--strict'],
  ['@arethetypeswrong/cli@0.18.5', 'attw', '--profile=esm-only'],
])('passes %s', { timeout: 600_000 }, async (source, command, option) => {
  await using made = await packed()
  const given = ['exec', '--yes', `--package=${source}`, '--', command, made.tarball, option]
  await run('npm', given, { cwd: made.folder, env: { ...process.env, ...environment(made.folder) } })
})
