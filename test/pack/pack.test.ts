/**
 * The package of `npm pack`: JavaScript and declaration files alone, everything in it that it needs, run from node_modules of an
 * empty folder. Its dependencies are linked from this checkout, so that no network is needed; the real installation is
 * a test of `npm run test:install`.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { ROOT } from '../rules/source.ts'
import { environment, OLD_NODE, packed, type Packed, run } from './support.ts'

const LONG = 240_000

/** A program of a user. Node runs it as it is, because it is outside of node_modules. */
const PROGRAM = `
  import { defineReport, many, one, openTidemark, startSandbox, SyncError, string } from 'tidemark'
  import type { ErrorCode, PerformEvent } from 'tidemark'
  await using sandbox = await startSandbox({ rows: 10 })
  const files = { TIDEMARK_WAREHOUSE: 'own/warehouse.duckdb', TIDEMARK_PUBLISHED: 'own/copy.duckdb' }
  await using tidemark = await openTidemark({ env: { ...sandbox.env, ...files } })
  const places: PerformEvent[] = []
  const run = tidemark.sync(['events'])
  for await (const event of run) if ('place' in event) places.push(event)
  const { outcomes: [outcome] } = await run
  const { rows } = await tidemark.query<{ n: number }>('SELECT count(*) AS n FROM events')
  console.log(rows[0]?.n, places.map((event) => 'place' in event && event.place).join(), outcome?.state)
  const code: ErrorCode | undefined = await tidemark.sync(['event']).then(
    () => undefined,
    (error: unknown) => (error instanceof SyncError ? error.code : undefined),
  )
  console.log(code)
  void [defineReport, many, one, string]
`

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
  await writeFile(path.join(home, 'package.json'), '{ "type": "module" }')
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
    expect(files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([])
    expect(files.filter((name) => /^(?:src|jobs|schema|test|tools|bench)\//.test(name))).toEqual([])
    expect(files.filter((name) => name.includes('__pycache__'))).toEqual([])
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

  it('has declaration files with which a strict program passes the type check, also of the files themselves', async () => {
    const options = { module: 'nodenext', target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['node'] }
    const compilerOptions = { ...options, strict: true, exactOptionalPropertyTypes: true, noEmit: true }
    await writeFile(path.join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    await writeFile(path.join(home, 'program.ts'), PROGRAM)
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
    const checked = await run(process.execPath, [tsc, '-p', home]).catch(({ stdout }: { stdout: string }) => ({
      stdout,
    }))
    expect(checked.stdout).toBe('')
  })

  it('runs a program that uses the library', { tags: 'long', timeout: LONG }, async () => {
    await writeFile(path.join(home, 'program.ts'), PROGRAM)
    const { stdout } = await run(process.execPath, ['program.ts'], { cwd: home, env: environment(home) })
    expect(stdout).toBe('10 here done\nREPORT_UNKNOWN\n')
  })

  it('leaves package.json of the checkout as it was', async () => {
    const [before, after] = [ROOT, path.join(made.folder, 'copy')].map((at) =>
      readFile(path.join(at, 'package.json'), 'utf8'),
    )
    expect(await after).toBe(await before)
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

  it('says to a program on an older Node how to start it, whether it imports or requires the library', async () => {
    await writeFile(path.join(home, 'old.js'), `import { openTidemark } from 'tidemark'\nconsole.log(openTidemark)`)
    await writeFile(path.join(home, 'old.cjs'), `console.log(require('tidemark').openTidemark)`)
    for (const name of ['old.js', 'old.cjs']) {
      const env = environment(home)
      const ran = run(process.execPath, ['--import', OLD_NODE, name], { cwd: home, env })
      const stderr = expect.stringContaining(`needs Node 24.12 or newer, this is v`) as unknown
      await expect(ran).rejects.toMatchObject({ code: 1, stdout: '', stderr })
      await expect(ran).rejects.toMatchObject({ stderr: expect.stringContaining(`"npx node ${name}"`) as unknown })
      const { stdout } = await run(process.execPath, [name], { cwd: home, env })
      expect(stdout).toContain('openTidemark')
    }
  })

  it('says which Node it needs when an older one runs it and none came with it', { tags: 'long' }, async () => {
    const lonely = path.join(made.folder, 'lonely/node_modules/tidemark')
    await mkdir(lonely, { recursive: true })
    await run('tar', ['xzf', made.tarball, '-C', lonely, '--strip-components=1'])
    const ran = run(process.execPath, ['--import', OLD_NODE, path.join(lonely, 'bin/tidemark.js'), '--version'], {
      env: environment(home),
    })
    await expect(ran).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/needs Node 24\.12 or newer.*install Node 24\.12 or newer/),
    })
  })
})
