/**
 * What needs a registry: the package installed by npm into an empty folder with an empty home, where `npx tidemark` runs;
 * checks of its types and exports; and the API reference, which TypeDoc writes.
 */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { environment, packed, run } from '../pack/support.ts'
import { ROOT } from '../rules/source.ts'

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

it('docs/api is the page that "npm run docs:api" writes', { timeout: 600_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-api-'))
  try {
    await run(process.execPath, ['tools/api/main.ts', folder], { cwd: ROOT })
    const [written, page] = [folder, path.join(ROOT, 'docs/api')].map((at) =>
      readFile(path.join(at, 'README.md'), 'utf8'),
    )
    expect(await page).toBe(await written)
  } finally {
    await rm(folder, { recursive: true })
  }
})

it.each([
  ['publint@0.3.25', 'publint', '--strict'],
  ['@arethetypeswrong/cli@0.18.5', 'attw', '--profile=esm-only'],
])('passes %s', { timeout: 600_000 }, async (source, command, option) => {
  await using made = await packed()
  const given = ['exec', '--yes', `--package=${source}`, '--', command, made.tarball, option]
  await run('npm', given, { cwd: made.folder, env: { ...process.env, ...environment(made.folder) } })
})
