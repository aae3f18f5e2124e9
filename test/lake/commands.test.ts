/**
 * The commands that read and mend, on a lake with history and privacy: check, verify, export and backfill see the same
 * rows as they would in a file, and say the same.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import type { Manifest } from '../../src/warehouse/publish/exportManifest.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { openPublished } from '../../src/wiring/published.ts'
import { aWorld, type World } from '../cli/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'

const KEY = 'a key of at least sixteen characters'
const TABLES = ['main.events', 'main.events__meeting_rooms', 'history.events', 'history.events__meeting_rooms']

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

async function aLakeWorld(catalogue: 'sqlite' | 'postgres'): Promise<World> {
  const world = await aWorld({ sandbox: { rows: 60 }, env: { TIDEMARK_HASH_KEY: KEY } })
  const at = catalogue === 'sqlite' ? join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
  await world.configure({
    warehouse: `ducklake:${catalogue}:${at}`,
    lake_data: join(world.folder, 'files'),
    extensions: extensionsFolder(),
    defaults: { page_size: 20 },
    reports: { events: { history: true, columns: { town: 'hash', 'meeting_rooms.name': 'drop' } } },
  })
  return world
}

async function done(world: World, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await world.run(...args)
  expect(code, `tidemark ${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

const rowsOf = async <T>(world: World, sql: string): Promise<T[]> =>
  JSON.parse(await done(world, 'query', '--format', 'json', sql)) as T[]

interface Verified {
  readonly rows: number
  readonly missing: { readonly rows: number }
  readonly different: { readonly rows: number; readonly keys: readonly string[] }
  readonly extra: { readonly rows: number }
}

async function verified(world: World): Promise<{ code: number | null; window: Verified | undefined }> {
  const { code, stdout, stderr } = await world.run('verify', 'events', '--json')
  const { reports } = JSON.parse(stdout || stderr) as { reports: { windows: Verified[] }[] }
  return { code, window: reports[0]?.windows[0] }
}

/** Tables of which the export's files, by its manifest, hold something else than the lake. */
async function exportedOtherwise(world: World): Promise<unknown[]> {
  const { tables } = JSON.parse(await readFile(join(world.folder, 'out/manifest.json'), 'utf8')) as Manifest
  const compared = TABLES.map((table) => {
    const exported = tables.find(({ name }) => name === table.replace(/^main\./, ''))
    expect(exported?.rows, table).toBeGreaterThan(0)
    const sent = `FROM read_parquet([${exported?.files.map(({ path }) => `'${join(world.folder, 'out', path)}'`).join(', ')}])`
    return `SELECT '${table}' AS name, (SELECT count(*) FROM (${sent} EXCEPT ALL FROM ${table})) +
      (SELECT count(*) FROM (FROM ${table} EXCEPT ALL ${sent})) AS differ`
  })
  const differing: unknown[] = []
  // `tidemark query` reads no files, so the test opens the lake itself.
  await using database = await openPublished(
    await loadConfig({ cwd: world.folder, env: { REPORTING_CLIENT_SECRET: 'x', TIDEMARK_HASH_KEY: KEY } }),
  )
  for (const each of compared) differing.push(...(await database.rows(`SELECT name FROM (${each}) WHERE differ > 0`)))
  return differing
}

it('status shows nothing, and query names the cure, while another process creates the tables of a lake', async () => {
  await using world = await aLakeWorld('sqlite')
  await using other = await Database.open(':memory:', { memory: '256MB' })
  for (const name of ['sqlite_scanner', 'ducklake'])
    await other.run(`LOAD '${join(extensionsFolder(), `${name}.duckdb_extension`)}'`)
  await other.run(
    `ATTACH 'ducklake:sqlite:${join(world.folder, 'lake.sqlite')}' AS lake (DATA_PATH '${world.folder}/files/', META_JOURNAL_MODE 'WAL')`,
  )
  expect(JSON.parse(await done(world, 'status', '--json'))).toMatchObject({ reports: [] })
  const query = await world.run('query', 'SELECT count(*) FROM current.events')
  expect(query.stderr).toMatch(/has no tables yet[\s\S]*tidemark sync/)
})

describe.each(['sqlite', 'postgres'] as const)('with a lake whose catalogue is in %s', (catalogue) => {
  // One story: each test goes on with the lake of the one before.
  let world: World
  beforeAll(async () => {
    world = await aLakeWorld(catalogue)
  })
  afterAll(() => world[Symbol.asyncDispose]())

  const checks = async () => {
    const { checks: found } = JSON.parse(await done(world, 'check', '--json')) as {
      checks: { check: string; result: string; found: string; cure?: string }[]
    }
    return new Map(found.map((each) => [each.check, each]))
  }

  it('check says that the first sync makes the lake', async () => {
    expect((await checks()).get('warehouse')).toMatchObject({
      result: 'warn',
      cure: expect.stringContaining('makes the lake') as string,
    })
  })

  it('backfill commits once for each window, and little beside', async () => {
    // Nothing is that old: what is counted is the windows alone.
    const range = ['--from', '2000-01-01', '--to', '2002-01-01']
    const told = JSON.parse(await done(world, 'backfill', 'events', '--json', '--quiet', ...range)) as {
      backfills: { state: string; windows: number; windows_done: number; windows_failed: number }[]
    }
    expect(told.backfills).toMatchObject([{ state: 'done', windows_failed: 0 }])
    const windows = told.backfills[0]?.windows_done ?? 0
    expect(windows).toBeGreaterThan(20)
    const [counted] = await rowsOf<{ n: number }>(world, `SELECT count(*) AS n FROM lake.snapshots()`)
    // The lake itself, the run's right to write, its beginning and its end are commits, too.
    expect(counted?.n).toBeLessThan(windows + 20)
  })

  it('check finds the lake and all else well', async () => {
    await done(world, 'sync', 'events', '--quiet')
    const found = await checks()
    expect([...found.values()].filter(({ result }) => result === 'fail')).toEqual([])
    expect(found.get('warehouse')).toMatchObject({ result: 'ok' })
    expect(found.get('warehouse')?.found).toContain(`ducklake:${catalogue}:`)
    expect(found.get('published copy')?.found).toContain('readers attach the lake')
  })

  it('verify finds nothing, then the row that changed without a word', async () => {
    expect(await verified(world)).toMatchObject({
      code: 0,
      window: { rows: 60, missing: { rows: 0 }, different: { rows: 0 }, extra: { rows: 0 } },
    })
    const [silent] = world.sandbox.world.liveKeys('events') as [number]
    world.sandbox.world.silentEdit('events', silent)
    expect(await verified(world)).toMatchObject({ code: 1, window: { different: { rows: 1, keys: [String(silent)] } } })
  })

  it('backfill mends it, and keeps the version before', async () => {
    await done(world, 'backfill', 'events', '--quiet')
    expect(await verified(world)).toMatchObject({ code: 0, window: { different: { rows: 0 } } })
    const [counted] = await rowsOf<{ n: number }>(
      world,
      'SELECT count(*) AS n FROM history.events WHERE _valid_to IS NOT NULL',
    )
    expect(counted?.n).toBe(1)
  })

  it('changes has what changed since a cursor, of the table and its children', async () => {
    const changes = async (...args: string[]) =>
      (await done(world, 'changes', 'events', '--children', ...args)).trim().split('\n')
    const all = await changes()
    const { cursor } = JSON.parse(all.at(-1) ?? '') as { cursor: string }
    expect(all.length).toBeGreaterThan(60)
    expect(await changes('--since', cursor)).toEqual([JSON.stringify({ cursor })])
    world.sandbox.world.edit('events', Number(world.sandbox.world.liveKeys('events')[1]))
    await done(world, 'sync', 'events', '--quiet')
    const later = await changes('--since', cursor)
    expect(later.filter((line) => line.startsWith('{"table":"events","change":"update"'))).toHaveLength(1)
  })

  it('export writes what the lake holds, versions too, and then only what changed', async () => {
    const exported = async () =>
      JSON.parse(await done(world, 'export', '--to', 'out', '--json', 'events')) as { replaced: boolean }
    expect(await exported()).toMatchObject({ replaced: true, generation: 1 })
    expect(await exportedOtherwise(world)).toEqual([])
    expect(await exported()).toMatchObject({ replaced: false, generation: 1, written: 0 })
    const [, edited] = world.sandbox.world.liveKeys('events') as [number, number]
    world.sandbox.world.edit('events', edited)
    await done(world, 'sync', 'events', '--quiet')
    expect(await exported()).toMatchObject({ replaced: true, generation: 2 })
    expect(await exportedOtherwise(world)).toEqual([])
  })

  it('what is private is nowhere in it', async () => {
    const towns = world.sandbox.world.liveKeys('events').map((key) => world.sandbox.world.row('events', key)?.['town'])
    const list = towns.map((town) => `'${String(town)}'`).join(', ')
    const [found] = await rowsOf<{ held: number; hashed: number }>(
      world,
      `SELECT count(*) FILTER (town IN (${list})) AS held, count(*) FILTER (length(town) = 64) AS hashed FROM history.events`,
    )
    expect(found).toMatchObject({ held: 0 })
    expect(found?.hashed).toBeGreaterThan(50)
  })
})
