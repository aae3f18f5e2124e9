/**
 * The package that `npm pack` makes: JavaScript alone, everything in it that it needs, run from node_modules of an
 * empty folder. Its dependencies are linked from this checkout, so that no network is needed; the real installation is
 * a test of `npm run test:install`.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { ROOT } from '../rules/source.ts'
import { environment, packed, type Packed, run } from './support.ts'

const LONG = 240_000

let made: Packed
let home: string
let launcher: string

beforeAll(async () => {
  made = await packed()
  home = path.join(made.folder, 'empty')
  const modules = path.join(home, 'node_modules')
  await mkdir(path.join(modules, 'tidemark'), { recursive: true })
  await run('tar', ['xzf', made.tarball, '-C', path.join(modules, 'tidemark'), '--strip-components=1'])
  for (const name of await readdir(path.join(ROOT, 'node_modules'))) {
    if (name.startsWith('.')) continue
    await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name))
  }
  launcher = path.join(modules, 'tidemark/bin/tidemark.js')
}, LONG)

afterAll(() => made[Symbol.asyncDispose]())

describe('the package', () => {
  it('holds no TypeScript, no test, and nothing else that it does not need', async () => {
    const { stdout } = await run('tar', ['tzf', made.tarball])
    const files = stdout
      .trim()
      .split('\n')
      .map((name) => name.replace(/^package\//, ''))
    expect(files.filter((name) => name.endsWith('.ts'))).toEqual([])
    expect(files.filter((name) => /^(?:src|jobs|schema|test|tools|bench)\//.test(name))).toEqual([])
    const needed = [
      'dist/schema/migrations/0001_books.sql',
      'dist/src/warehouse/publish/copyFile.js',
      'ops/alerts.yaml',
      'LICENSE',
    ]
    for (const name of [...needed, 'docs/OPERATING.md', '.env.example']) expect(files).toContain(name)
    expect(existsSync(path.join(made.folder, 'copy/dist'))).toBe(false)
  })

  it('holds every file of the program that is no TypeScript', async () => {
    const { stdout } = await run('git', ['ls-files', 'bin', 'schema', 'src', 'jobs'], { cwd: ROOT })
    const names = stdout
      .trim()
      .split('\n')
      .filter((name) => existsSync(path.join(ROOT, name)))
    const built = names.map((name) => `dist/${name.replace(/\.ts$/, '.js')}`)
    expect(built.filter((name) => !existsSync(path.join(home, 'node_modules/tidemark', name)))).toEqual([])
  })

  it('can be installed elsewhere: no dependency is a folder of this checkout', async () => {
    const text = await readFile(path.join(home, 'node_modules/tidemark/package.json'), 'utf8')
    const { dependencies, optionalDependencies } = JSON.parse(text) as Record<string, Record<string, string>>
    const versions = Object.values({ ...dependencies, ...optionalDependencies })
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([])
  })

  it('runs from node_modules: its version, and a sync against a service', { tags: 'long', timeout: LONG }, async () => {
    const env = environment(home)
    const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(await run(process.execPath, [launcher, '--version'], { cwd: home, env })).toMatchObject({
      stdout: `${version}\n`,
    })
    await using sandbox = await startSandbox({ rows: 20 })
    const service = {
      REPORTING_BASE_URL: sandbox.url,
      REPORTING_CLIENT_ID: 'demo',
      REPORTING_CLIENT_SECRET: 'demo-secret',
    }
    const at = { cwd: home, env: { ...env, ...service } }
    await run(process.execPath, [launcher, 'sync', 'events', '--quiet'], at)
    const { stdout } = await run(
      process.execPath,
      [launcher, 'query', 'SELECT count(*) AS n FROM events', '--format', 'csv'],
      at,
    )
    expect(stdout).toBe('n\n20\n')
  })

  it('says which Node it needs when an older one runs it and none came with it', { tags: 'long' }, async () => {
    const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})`
    const lonely = path.join(made.folder, 'lonely/node_modules/tidemark')
    await mkdir(lonely, { recursive: true })
    await run('tar', ['xzf', made.tarball, '-C', lonely, '--strip-components=1'])
    const ran = run(process.execPath, ['--import', old, path.join(lonely, 'bin/tidemark.js'), '--version'], {
      env: environment(home),
    })
    await expect(ran).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/needs Node 24\.12 or newer.*install Node 24\.12 or newer/),
    })
  })
})
