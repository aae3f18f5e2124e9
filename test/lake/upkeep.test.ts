/**
 * Upkeep bounds the files, snapshots and catalogue rows of a lake. Loads, readers and older snapshots keep all rows
 * meanwhile, and one worker at a time does it.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import type { SharedContext } from '../../src/sync/context.ts'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { reportOf } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { DAY_MS, formatInstant, fromMillis, HOUR_MS, MINUTE_MS, minusMs, plusMs } from '../../src/instant.ts'
import { createLog } from '../../src/log.ts'
import type { SyncSettings } from '../../src/sync/context.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import type { Sql } from '../../src/warehouse/database/sql.ts'
import { attachLake, type LakePlace, openLake } from '../../src/warehouse/database/lake.ts'
import { keepLake, lastUpkeep, type LakeUpkeep } from '../../src/warehouse/database/upkeep.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { knockAt, TOKEN } from '../console/support.ts'
import { aWorkshop, hasSaid, linesOf, OWNS, stop, until } from '../jobs/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { aFolder, loadRows, type OpenWarehouse } from '../support/warehouse.ts'

const events = reportOf('events')
const WEEK_MS = 7 * DAY_MS

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

interface Lake extends AsyncDisposable {
  readonly place: LakePlace
  /** Opens the lake as a process of its own would. */
  open(): Promise<OpenWarehouse>
  /** Opens a reader with a DuckDB of its own. The lake has the name `mine`. */
  read(): Promise<Database>
}

async function aLake(catalogue: 'sqlite' | 'postgres'): Promise<Lake> {
  const folder = await aFolder()
  const closing = new AsyncDisposableStack()
  closing.defer(() => folder[Symbol.asyncDispose]())
  const at = catalogue === 'sqlite' ? join(folder.path, 'lake.sqlite') : await postgres.newDatabase()
  const place: LakePlace = { catalogue, at, data: `${folder.path}/files/`, extensions: extensionsFolder() }
  let loaders = 0
  return {
    place,
    open: async () => {
      const path = join(folder.path, `loader-${(loaders += 1)}`)
      const warehouse = await Warehouse.open({ path, lake: place, memory: '512MB', threads: 1 })
      closing.defer(() => warehouse.close())
      return { warehouse, folder: folder.path, path, [Symbol.asyncDispose]: () => warehouse.close() }
    },
    read: async () => {
      const reader = closing.use(await Database.open(':memory:', { memory: '256MB' }))
      await attachLake(reader, place, 'mine')
      return reader
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

/** A clock that only the test moves. */
function aClock(startMs = Number(systemClock.now()) / 1_000) {
  let ms = startMs
  return { now: () => fromMillis(ms), monotonicMs: () => ms, pass: (by: number) => void (ms += by) }
}

const turnOf = (
  { warehouse }: OpenWarehouse,
  clock: ReturnType<typeof aClock>,
  more: Partial<Parameters<Warehouse['upkeep']>[0]> = {},
): Promise<LakeUpkeep | undefined> =>
  warehouse.upkeep({ clock, snapshotsMs: WEEK_MS, signal: new AbortController().signal, ...more })

const rowsFrom = (from: number, name: string) =>
  Array.from({ length: 12 }, (_, n) => ({ eventId: from + n, name, meetingRooms: [{ id: 1, name }] }))

const formsFrom = (from: number, version: number) =>
  Array.from({ length: 12 }, (_, n) => ({ submissionId: from + n, formId: version, attachments: [{ id: 1, version }] }))

const parquetFiles = ({ data }: LakePlace): string[] =>
  readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.parquet'))

it('a year of ticks, one each second week, leaves few files, snapshots and catalogue rows, and each row once', async () => {
  const TICKS = 26
  const EVERY_MS = 2 * WEEK_MS
  const KEPT_MS = 4 * EVERY_MS
  const forms = reportOf('merf_submissions')
  const options = { snapshotsMs: KEPT_MS }
  await using lake = await aLake('sqlite')
  const own = await lake.open()
  const clock = aClock(Number(systemClock.now()) / 1_000 - TICKS * EVERY_MS)
  await using catalogue = await Database.open(':memory:', { memory: '128MB' })
  await catalogue.run(`LOAD '${extensionsFolder()}/sqlite_scanner.duckdb_extension'`)
  await catalogue.run(`ATTACH '${lake.place.at}' AS c (TYPE sqlite)`)
  const worst = { files: 0, snapshots: 0, catalogue_rows: 0, onDisk: 0 }
  for (let tick = 0; tick < TICKS; tick += 1) {
    // Each tick changes 24 of 60 rows.
    const rows = [tick * 12, tick * 12 + 24].flatMap((from) => formsFrom(from % 60, tick))
    const now = clock.now()
    await loadRows(own, forms, rows, { observedAt: now, now, runId: `run-${tick}` })
    if (tick % 2 === 0) await own.warehouse.trimBooks(minusMs(now, KEPT_MS))
    // DuckLake stamps with the real clock. The test moves these times to the simulated time.
    const time = formatInstant(now).replace('T', ' ').replace('Z', '+00')
    await catalogue.run(`UPDATE c.ducklake_snapshot SET snapshot_time = '${time}' WHERE snapshot_time > '${time}'`)
    await catalogue.run(
      `UPDATE c.ducklake_files_scheduled_for_deletion SET schedule_start = '${time}' WHERE schedule_start > '${time}'`,
    )
    const turn = await turnOf(own, clock, options)
    expect(turn).toMatchObject({ left: 0, failed: [], after: expect.anything() as object })
    for (const figure of ['files', 'snapshots', 'catalogue_rows'] as const)
      worst[figure] = Math.max(worst[figure], turn?.after?.[figure] ?? Infinity)
    worst.onDisk = Math.max(worst.onDisk, parquetFiles(lake.place).length)
    clock.pass(EVERY_MS)
  }
  console.info(JSON.stringify(worst))
  const [found] = await own.warehouse.rows(
    `SELECT count(*) AS rows, count(DISTINCT submission_id) AS keys,
      (SELECT count(*) FROM merf_submissions__attachments WHERE NOT is_deleted) AS files FROM merf_submissions`,
  )
  expect(found).toEqual({ rows: 60, keys: 60, files: 60 })
  // Without upkeep there would be a snapshot for each load, and two or more files.
  expect(worst.snapshots).toBeLessThan(60)
  expect(worst.files).toBeLessThan(80)
  expect(worst.onDisk).toBeLessThan(100)
  expect(worst.catalogue_rows).toBeLessThan(800)
})

describe.each(['sqlite', 'postgres'] as const)('on a lake with its catalogue in %s', (catalogue) => {
  it('loads and readers beside upkeep lose nothing, and older snapshots keep their rows', async () => {
    await using lake = await aLake(catalogue)
    const [one, two] = [await lake.open(), await lake.open()]
    const reader = await lake.read()
    await loadRows(one, events, rowsFrom(0, 'first'))
    const count = async (at = '') => {
      const [found] = await reader.rows<{ n: number }>(`SELECT count(*) AS n FROM mine.main.events ${at}`)
      return found?.n ?? 0
    }
    const seen = new Map<number, number>()
    const counts: number[] = []
    const loads = new AbortController()
    const loading = (async () => {
      for (let load = 1; load < 25; load += 1) {
        await loadRows(one, events, [...rowsFrom(load * 12, 'new'), ...rowsFrom(load * 6, `again ${load}`)], {
          observedAt: plusMs(systemClock.now(), load * HOUR_MS),
        })
        const [last] = await reader.rows<{ id: number }>('SELECT max(snapshot_id)::INTEGER AS id FROM mine.snapshots()')
        seen.set(last?.id ?? 0, await count(`AT (VERSION => ${last?.id})`))
      }
      loads.abort()
    })()
    const reading = (async () => {
      while (!loads.signal.aborted) counts.push(await count())
    })()
    const turns: LakeUpkeep[] = []
    const clock = aClock()
    const keeping = async () => {
      clock.pass(HOUR_MS)
      turns.push((await turnOf(two, clock)) as LakeUpkeep)
    }
    for (let turn = 0; turn < 4; turn += 1) await keeping()
    await Promise.all([loading, reading])
    await keeping()
    expect(turns.flatMap(({ failed }) => failed).filter((error) => !error.startsWith('LAKE_BUSY'))).toEqual([])
    expect(turns.at(-1)).toMatchObject({ left: 0, failed: [] })
    const [files] = await reader.rows<{ n: number }>(
      `SELECT file_count AS n FROM ducklake_table_info('mine') WHERE table_name = 'events'`,
    )
    expect(files?.n).toBeLessThan(15)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(await count()).toBe(25 * 12)
    for (const [id, rows] of seen) expect(await count(`AT (VERSION => ${id})`), `snapshot ${id}`).toBe(rows)
  })

  it('a load between any two steps of upkeeps leaves older snapshots as they were', async () => {
    await using lake = await aLake(catalogue)
    const one = await lake.open()
    await using two = await openLake(lake.place, { memory: '512MB', threads: 1 })
    const reader = await lake.read()
    const countAt = async (id: number) => {
      const [found] = await reader.rows<{ n: number }>(
        `SELECT count(*) AS n FROM mine.main.events AT (VERSION => ${id})`,
      )
      return found?.n ?? 0
    }
    const seen = new Map<number, number>()
    let loads = 0
    const load = async () => {
      const rows = [...rowsFrom(loads * 12, 'new'), ...rowsFrom(loads * 6, `again ${loads}`)]
      await loadRows(one, events, rows, { observedAt: plusMs(systemClock.now(), loads * HOUR_MS) })
      loads += 1
      const [last] = await reader.rows<{ id: number }>('SELECT max(snapshot_id)::INTEGER AS id FROM mine.snapshots()')
      seen.set(last?.id ?? 0, loads * 12)
    }
    for (let before = 0; before < 12; before += 1) await load()
    const clock = aClock()
    const signal = new AbortController().signal
    for (let upkeeps = 0; upkeeps < 3; upkeeps += 1) {
      clock.pass(HOUR_MS)
      const transact = async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
        await load()
        return two.transaction(work)
      }
      expect(await keepLake(transact, { clock, snapshotsMs: WEEK_MS, signal })).toMatchObject({ left: 0, failed: [] })
      for (const [id, rows] of seen) expect(await countAt(id), `snapshot ${id}`).toBe(rows)
    }
  })

  it('loaders and readers that know a table of the catalogue continue after an upkeep has dropped it', async () => {
    await using lake = await aLake(catalogue)
    const [one, two] = [await lake.open(), await lake.open()]
    const reader = await lake.read()
    for (let load = 0; load < 10; load += 1) await loadRows(one, events, rowsFrom(load * 12, 'row'))
    await loadWithNewColumn(one)
    expect(await roomsOf(reader)).toEqual({ rooms: 122, seats: 4 })
    expect(await supersededTables(reader)).toBeGreaterThan(0)
    expect(await turnOf(two, aClock())).toMatchObject({ left: 0, failed: [] })
    expect(await supersededTables(reader)).toBe(0)
    expect(await roomsOf(reader)).toEqual({ rooms: 122, seats: 4 })
    await loadRows(one, events, [roomWith({ seats: 5 })], { observedAt: plusMs(systemClock.now(), HOUR_MS) })
    expect(await roomsOf(reader)).toEqual({ rooms: 122, seats: 5 })
  })

  it('one worker at a time does a turn, and the next one repeats the turn of a killed worker', async () => {
    await using lake = await aLake(catalogue)
    const [one, two] = [await lake.open(), await lake.open()]
    const clock = aClock()
    const both = await Promise.all([turnOf(one, clock), turnOf(two, clock)])
    expect(both.filter((turn) => turn !== undefined)).toHaveLength(1)
    clock.pass(10 * MINUTE_MS)
    expect(await turnOf(two, clock)).toBeUndefined()
    expect(await turnOf(two, clock, { isOrdered: true })).toMatchObject({ failed: [] })
    // A worker that was killed has recorded no end.
    const begun = { began_at: formatInstant(clock.now()), ended_at: null, before: {}, after: null, left: 0, failed: [] }
    await markBegun(lake, begun)
    expect(await turnOf(two, clock, { isOrdered: true })).toBeUndefined()
    clock.pass(HOUR_MS)
    expect(await turnOf(two, clock)).toMatchObject({ failed: [], left: 0 })
  })

  it('what does not fit into a turn is left to the next one', async () => {
    await using lake = await aLake(catalogue)
    const own = await lake.open()
    for (let load = 0; load < 12; load += 1) await loadRows(own, events, rowsFrom(load * 12, 'row'))
    const clock = aClock()
    let reads = 0
    const slow = { now: clock.now, monotonicMs: () => (reads += 1) * 4 * MINUTE_MS }
    const first = await own.warehouse.upkeep({
      clock: slow,
      snapshotsMs: WEEK_MS,
      signal: new AbortController().signal,
    })
    expect(first).toMatchObject({ failed: [] })
    expect(first?.left).toBeGreaterThan(0)
    clock.pass(HOUR_MS)
    const second = await turnOf(own, clock)
    expect(second).toMatchObject({ failed: [], left: 0 })
    expect(second?.after?.files).toBeLessThan((second?.before.files ?? 0) + 5)
  })

  it('a step that fails is recorded, and neither the other steps nor loads fail', async () => {
    await using lake = await aLake(catalogue)
    const own = await lake.open()
    for (let load = 0; load < 12; load += 1) await loadRows(own, events, rowsFrom(load * 12, 'row'))
    const [lost] = parquetFiles(lake.place).filter((file) => file.startsWith('main/events/'))
    rmSync(join(lake.place.data, lost ?? ''))
    const turn = await turnOf(own, aClock())
    expect(turn?.failed).toEqual([expect.stringMatching(/^[A-Z_]+: .*parquet/s)])
    expect(turn?.left).toBe(1)
    await loadRows(own, reportOf('enquiries'), [{ enquiryId: 1 }])
  })
})

const roomWith = (more: object) => ({ eventId: 1_001, name: 'new', meetingRooms: [{ id: 1, name: 'new', ...more }] })

/** Loads rows that stay in the catalogue, then a row with one more column: DuckLake has a table for each of the two. */
async function loadWithNewColumn(into: OpenWarehouse): Promise<void> {
  await loadRows(into, events, [{ ...roomWith({}), eventId: 1_000 }])
  await loadRows(into, events, [roomWith({ seats: 4 })])
}

async function roomsOf(reader: Database): Promise<object | undefined> {
  const [found] = await reader.rows(
    'SELECT count(name) AS rooms, max(seats) AS seats FROM mine.main.events__meeting_rooms WHERE NOT is_deleted',
  )
  return found
}

/** Returns how many tables of the catalogue DuckLake drops after the next flush, if they have no rows then. */
async function supersededTables(reader: Database): Promise<number> {
  const [found] = await reader.rows<{ n: number }>(`
    SELECT count(*) - count(DISTINCT table_id) AS n FROM __ducklake_metadata_mine.ducklake_inlined_data_tables`)
  return found?.n ?? 0
}

it('a loader whose tables of the catalogue were dropped by hand stores nothing, and loads when it opens again', async () => {
  await using lake = await aLake('sqlite')
  const one = await lake.open()
  await loadRows(one, events, rowsFrom(0, 'row'))
  await loadWithNewColumn(one)
  await byHand(lake, `CALL ducklake_flush_inlined_data('lake')`)
  const observedAt = plusMs(systemClock.now(), HOUR_MS)
  const load = (into: OpenWarehouse) => loadRows(into, events, [roomWith({ seats: 5 })], { observedAt })
  await expect(load(one)).rejects.toMatchObject({ code: 'LAKE_BUSY' })
  expect(await one.warehouse.isUsable()).toBe(false)
  const reader = await lake.read()
  expect(await roomsOf(reader)).toEqual({ rooms: 14, seats: 4 })
  const again = await lake.open()
  await load(again)
  expect(await again.warehouse.isUsable()).toBe(true)
  expect(await roomsOf(reader)).toEqual({ rooms: 14, seats: 5 })
})

/** Writes the record of a turn, as a worker does at its beginning. */
const markBegun = (lake: Lake, turn: object): Promise<void> =>
  byHand(lake, `UPDATE lake.tidemark.settings SET value = $1 WHERE name = 'lake_upkeep'`, [JSON.stringify(turn)])

async function byHand({ place }: Lake, statement: string, values?: readonly string[]): Promise<void> {
  await using database = await Database.open(':memory:', { memory: '128MB' })
  const scanner = place.catalogue === 'sqlite' ? 'sqlite_scanner' : 'postgres_scanner'
  for (const name of [scanner, 'ducklake'])
    await database.run(`LOAD '${join(extensionsFolder(), name)}.duckdb_extension'`)
  await database.run(`ATTACH 'ducklake:${place.catalogue}:${place.at}' AS lake`)
  await database.run(statement, values)
}

it('a command does a turn now; status and the console show it with before and after', async () => {
  await using shop = await aWorkshop({ store: 'embedded', env: { TIDEMARK_CONSOLE_TOKEN: TOKEN } })
  await shop.configure({ warehouse: `ducklake:sqlite:${shop.folder}/lake.sqlite`, extensions: extensionsFolder() })
  expect((await shop.run('sync', '--quiet', 'events')).code).toBe(0)
  const kept = await shop.run('lake', 'upkeep', '--json')
  expect(kept.code, kept.stderr).toBe(0)
  const turn = JSON.parse(kept.stdout) as LakeUpkeep
  expect(turn).toMatchObject({ left: 0, failed: [], before: { snapshots: expect.any(Number) as number } })
  const line = /The last upkeep of the lake was at .*: \d+ files \(\d+ before\), .*catalogue rows \([\d,]+ before\)\./
  expect((await shop.run('status')).stdout).toMatch(line)
  expect(JSON.parse((await shop.run('status', '--json')).stdout)).toMatchObject({ from: 'warehouse', upkeep: turn })
  const unknown = await shop.run('lake', 'clean')
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('tidemark lake upkeep') as string })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'the console listens') && hasSaid(worker, OWNS))
  // A busy machine makes the worker answer late, and the status is then read from the warehouse.
  const shown = async () => JSON.parse((await shop.run('status', '--json')).stdout) as { from: string }
  await until(async () => (await shown()).from === 'worker')
  expect(await shown()).toMatchObject({ upkeep: turn })
  const { address } = linesOf(worker).find(({ msg }) => msg.includes('the console listens')) as unknown as {
    address: string
  }
  const seen = await knockAt(address, '/api/overview', { headers: { authorization: `Bearer ${TOKEN}` } })
  expect((JSON.parse(seen.body) as { figures: string[] }).figures.join('\n')).toMatch(line)
  expect((await stop(worker)).code).toBe(0)
})

it('the hourly housekeeping of a worker does it by itself', async () => {
  await using lake = await aLake('sqlite')
  const { warehouse, folder } = await lake.open()
  const settings = { staging: join(folder, 'staging') } as SyncSettings
  const context = { warehouse, clock: systemClock, settings } as SharedContext
  const queues = { queue: () => ({ clean: () => Promise.resolve([]) }) } as unknown as JobQueues
  const options = { published: '', historyMs: 90 * DAY_MS, log: createLog({ level: 'silent' }) }
  const signal = new AbortController().signal
  await new Housekeeping({ ...options, context, queues }).do('retention', signal)
  expect(await lastUpkeep(warehouse)).toBeUndefined()
  await new Housekeeping({ ...options, context, queues, snapshotsMs: WEEK_MS }).do('retention', signal)
  expect(await lastUpkeep(warehouse)).toMatchObject({ failed: [], left: 0 })
})
