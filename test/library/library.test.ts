/** The library as a program uses it: cheap to import, runs as promises with events, signals, codes, and exact numbers. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { openTidemark, type PerformEvent, startSandbox, type SandboxOptions, type Tidemark } from 'tidemark'
import * as library from '../../src/library/index.ts'
import { startRun } from '../../src/library/run.ts'
import { run } from '../pack/support.ts'
import { ROOT, sourceOf } from '../rules/source.ts'

interface LibraryWorld extends AsyncDisposable {
  readonly tidemark: Tidemark
  readonly folder: string
}

async function opened(options: SandboxOptions = {}, env: NodeJS.ProcessEnv = {}): Promise<LibraryWorld> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-library-'))
  const sandbox = await startSandbox({ rows: 10, ...options })
  const tidemark = await openTidemark({ cwd: folder, env: { ...sandbox.env, ...env } })
  return {
    tidemark,
    folder,
    [Symbol.asyncDispose]: async () => {
      await tidemark[Symbol.asyncDispose]()
      await sandbox.close()
      await rm(folder, { recursive: true })
    },
  }
}

const LOADED = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
  const { openTidemark } = await import('tidemark')
  const atImport = [...loaded]
  const resources = process.getActiveResourcesInfo()
  await using tidemark = await openTidemark({ env: { REPORTING_BASE_URL: 'https://x.example', REPORTING_CLIENT_ID: 'x', REPORTING_CLIENT_SECRET: 'x-secret' } })
  console.log(JSON.stringify({ atImport, atOpen: loaded, resources }))`

const packagesOf = (urls: readonly string[]) => [
  ...new Set(urls.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])),
]

const ENTRY = 'src/library/entry.js'

describe('importing the library', () => {
  it('has the same names through the entry that an old Node can read, and that entry imports no TypeScript', async () => {
    const source = sourceOf(ENTRY, await readFile(path.join(ROOT, ENTRY), 'utf8'))
    expect(source.imports.map(({ from }) => from)).toEqual(['node:module', 'node:path', '../../bin/nodeVersion.js'])
    const shown = `console.log(Object.keys(await import('tidemark')).join())`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', shown], { cwd: ROOT })
    expect(stdout.trim().split(',').toSorted()).toEqual(Object.keys(library).toSorted())
  })

  it('loads neither DuckDB nor BullMQ nor any other package but zod, and opens nothing', async () => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', LOADED], { cwd: ROOT })
    const { atImport, atOpen, resources } = JSON.parse(stdout) as Record<'atImport' | 'atOpen' | 'resources', string[]>
    expect(packagesOf(atImport).filter((name) => name !== 'zod')).toEqual([])
    expect(atImport.filter((url) => /\/(?:src\/(?:warehouse|client|sync|worker|sandbox)|jobs)\//.test(url))).toEqual([])
    const heavy = [
      '@duckdb/node-api',
      'bullmq',
      'ioredis',
      'pg',
      '@electric-sql/pglite',
      'fastify',
      'undici',
      '@faker-js/faker',
    ]
    expect(packagesOf(atOpen).filter((name) => heavy.includes(name))).toEqual([])
    expect(resources.filter((name) => !['TTYWrap', 'PipeWrap', 'FSReqPromise'].includes(name))).toEqual([])
  })
})

describe('a run', () => {
  it('yields the place, progress and outcomes, and resolves to the answer', async () => {
    await using world = await opened()
    const events: PerformEvent[] = []
    const run = world.tidemark.sync(['events'])
    for await (const event of run) events.push(event)
    expect(events[0]).toEqual({ place: 'here' })
    expect(events.some((event) => 'progress' in event && event.progress.report === 'events')).toBe(true)
    expect(events.at(-1)).toMatchObject({ outcome: { report: 'events', state: 'done' } })
    expect(await run).toMatchObject({ outcomes: [{ report: 'events', figures: { rows: 10 } }], published: {} })
  })

  it('contains the error of a report that fails, and does not throw it', async () => {
    await using world = await opened({ faults: ['403@events'] })
    const { outcomes } = await world.tidemark.sync(['events'])
    expect(outcomes).toMatchObject([{ state: 'failed', error: { code: 'REPORT_FORBIDDEN' } }])
  })

  it('throws CANCELLED in the loop and to who awaits it, when its signal aborts', async () => {
    await using world = await opened({ faults: ['slow@events:200'] })
    const stop = new AbortController()
    const run = world.tidemark.sync(['events'], { signal: stop.signal })
    const reading = (async () => {
      for await (const event of run) if ('place' in event) stop.abort()
    })()
    await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(world.tidemark.status({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('is stopped when the library is closed', async () => {
    await using world = await opened({ faults: ['slow@events:200'] })
    const run = world.tidemark.sync(['events'])
    const ended = expect(run).rejects.toMatchObject({ code: 'CANCELLED', message: 'tidemark was closed' })
    await world.tidemark[Symbol.asyncDispose]()
    await ended
  })

  it('goes on when its loop is left early', async () => {
    const run = startRun<number, number>(async (tell) => {
      for (const event of [1, 2, 3]) await tell(event)
      return 4
    })
    for await (const event of run) if (event === 1) break
    expect(await run).toBe(4)
  })

  it('waits until each event is taken', async () => {
    const told: number[] = []
    const run = startRun<void, number>(async (tell) => {
      for (let event = 0; event < 9; event += 1) {
        told.push(event)
        await tell(event)
      }
    })
    for await (const event of run) expect(told.length).toBeLessThanOrEqual(event + 3)
    expect(told).toHaveLength(9)
  })
})

describe('wrong input', () => {
  it('is a SyncError with a code and a cure', async () => {
    await using world = await opened()
    const { tidemark } = world
    const usage = { code: 'USAGE_INVALID', cure: expect.stringContaining('2024-01-31') }
    await expect(tidemark.sync(['event'])).rejects.toMatchObject({ code: 'REPORT_UNKNOWN' })
    await expect(tidemark.sync(['budgets'])).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(tidemark.backfill(['events'], { from: 'yesterday' })).rejects.toMatchObject(usage)
    await expect(tidemark.verify(['events'], { to: new Date(Number.NaN) })).rejects.toMatchObject(usage)
    await expect(tidemark.query('SELECT 1')).rejects.toMatchObject({ code: 'WAREHOUSE_MISSING' })
    await expect(openTidemark({ cwd: world.folder, env: {} })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(tidemark.startWorker({ roles: ['push' as 'pull'] })).rejects.toMatchObject({ code: 'USAGE_INVALID' })
  })
})

describe('query', () => {
  it('returns numbers exactly: as a number, or as a string where JavaScript would round', async () => {
    await using world = await opened()
    await world.tidemark.sync(['events'])
    const { rows, columns } = await world.tidemark.query(`
      SELECT 12.500000000::DECIMAL(38,9) AS price, 0.1::DOUBLE + 0.2 AS sum, 9007199254740991 AS safe,
        9007199254740993 AS long, 1234567890123456.789::DECIMAL(38,9) AS amount, 1e21::DOUBLE AS large, 100 AS hundred,
        0.000000001::DECIMAL(38,9) AS small, [1, 9007199254740993] AS list, NULL AS nothing`)
    expect(rows).toEqual([
      {
        price: 12.5,
        sum: 0.300_000_000_000_000_04,
        safe: Number.MAX_SAFE_INTEGER,
        long: '9007199254740993',
        amount: '1234567890123456.789000000',
        large: 1e21,
        hundred: 100,
        small: 1e-9,
        list: [1, '9007199254740993'],
        nothing: null,
      },
    ])
    expect(columns[0]).toBe('price')
  })

  it('stops no other statement: of two at once, of two files, or after a publication', { tags: 'long' }, async () => {
    await using world = await opened()
    const { tidemark, folder } = world
    await tidemark.sync(['events'])
    const files = ['one', 'two'].map((name) => path.join(folder, `${name}.parquet`)) as [string, string]
    const counted = tidemark.query('SELECT count(*) AS rows FROM range(5000000) a, range(5) b')
    const written = files.map((file, n) => tidemark.writeParquet(`FROM range(${n + 1})`, file))
    await tidemark.perform({ do: 'reset', reports: ['events'], empty: true })
    const after = tidemark.query('SELECT count(*) AS rows FROM events')
    expect((await counted).rows).toEqual([{ rows: 25_000_000 }])
    expect(await Promise.all(written)).toEqual([1, 2])
    expect((await after).rows).toEqual([{ rows: 0 }])
  })

  it('runs the next statement after a callback that throws', async () => {
    await using world = await opened()
    await world.tidemark.sync(['events'])
    const thrown = world.tidemark.queryCells('FROM events', () => Promise.reject(new Error('no space for rows')))
    await expect(thrown).rejects.toThrow('no space for rows')
    expect((await world.tidemark.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })
})

describe('a sandbox', () => {
  it('ends when its signal aborts', async () => {
    const stop = new AbortController()
    const { url } = await startSandbox({ rows: 1, signal: stop.signal })
    expect((await fetch(url)).status).toBe(404)
    stop.abort()
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })
})
