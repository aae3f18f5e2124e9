/** Rows so large, or so many, that DuckDB's memory doesn't hold them: what is tried, and then what is said. */
import { describe, expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import { SyncError } from '../../src/errors.ts'
import { type AroundStatement, Database } from '../../src/warehouse/database/duckdb.ts'
import { checkpoint, reserveForNewRows, withMemory } from '../../src/warehouse/database/loadResources.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { copyWarehouse } from '../support/templates.ts'
import { aFolder, loadRows, type OpenWarehouse } from '../support/warehouse.ts'

const MIB = 2 ** 20

async function small(threads: number, memory: string, around?: AroundStatement): Promise<OpenWarehouse> {
  const folder = await aFolder()
  const path = `${folder.path}/warehouse.duckdb`
  await copyWarehouse(path)
  const warehouse = await Warehouse.open({ path, memory, threads, around })
  return {
    warehouse,
    path,
    folder: folder.path,
    [Symbol.asyncDispose]: async () => {
      await warehouse.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const threadsOf = async ({ warehouse }: OpenWarehouse) =>
  (await warehouse.rows<{ threads: number }>(`SELECT current_setting('threads') AS threads`))[0]?.threads

const event = (more: object) => ({ eventId: 1, name: 'n', isDeleted: false, ...more })
const large = (bytes: number) => event({ notes: 'x'.repeat(bytes) })
const withLargeItem = (bytes: number) => event({ meetingRooms: [{ id: 5, text: 'y'.repeat(bytes) }] })

describe('a load that does not fit the memory that DuckDB may take', () => {
  it('is done on one thread, whose buffers are the only ones, and the next one on all of them again', {
    tags: 'long',
  }, async () => {
    await using opened = await small(4, '100MB')
    await loadRows(opened, events, [large(16 * MIB)])
    const [held] = await opened.warehouse.rows('SELECT length(notes) AS characters FROM events')
    expect(held).toEqual({ characters: 16 * MIB })
    expect(await threadsOf(opened)).toBe(4)
  })

  it.each([
    ['a row of 30 MiB', large(30 * MIB)],
    ['an item of 30 MiB', withLargeItem(30 * MIB)],
    [
      'an object of 20 MiB',
      event({ odd: { list: Array.from({ length: 200_000 }, (_, n) => ({ n, text: 'x'.repeat(80) })) } }),
    ],
  ])('raises the limit for %s, and sets it back', { tags: 'long' }, async (_, row) => {
    await using opened = await small(4, '128MB')
    await loadRows(opened, events, [row])
    expect(await opened.warehouse.rows('SELECT event_id FROM events')).toEqual([{ event_id: 1 }])
    const [set] = await opened.warehouse.rows(`SELECT current_setting('memory_limit') AS memory`)
    expect(set).toEqual({ memory: '122.0 MiB' })
    expect(await threadsOf(opened)).toBe(4)
  })
})

/** Rows with an object in a field without a column, each of this many bytes. */
function* withObjects(count: number, bytes: number, status: number): Generator<object> {
  const items = Array.from({ length: bytes / 50 }, (_, n) => ({ n, text: `${status}`.repeat(25) }))
  for (let enquiryId = 0; enquiryId < count; enquiryId += 1) yield { enquiryId, status, detail: { items } }
}

describe('rows with nested objects load within the usual limit', () => {
  it.each([
    [5_000, 3_400],
    [40_000, 3_400],
    [640, 50_000],
    [2_700, 50_000],
    [1, 4_000_000],
    [33, 4_000_000],
    [7, 19_000_000],
  ])('%i rows of %i bytes, and again when each of them changes', { tags: 'long' }, async (count, bytes) => {
    await using opened = await small(2, '128MB')
    await loadRows(opened, enquiries, [...withObjects(count, bytes, 1)])
    await loadRows(opened, enquiries, [...withObjects(count, bytes, 2)], { observedAt: '2026-03-01T13:00:00Z' })
    await opened.warehouse.rows(`SET memory_limit = '2GB'`)
    const held = await opened.warehouse.rows(
      `SELECT count(*) AS rows, min(status) AS status, min(_extra ->> '$.detail.items[0].text') AS text FROM enquiries`,
    )
    expect(held).toEqual([{ rows: count, status: 2, text: '2'.repeat(25) }])
  })
})

const withoutDisk: AroundStatement = (sql, run) =>
  sql.includes('read_json') ? Promise.reject(new Error('the disk is gone')) : run()

const threadsSet = (statements: readonly string[]) => statements.filter((sql) => sql.startsWith('SET threads'))

describe('a load of 16 MiB or more', () => {
  it('of large size leaves one thread to the walk, and others use all threads', { tags: 'long' }, async () => {
    const statements: string[] = []
    const around: AroundStatement = (sql, run) => {
      statements.push(sql)
      return run()
    }
    await using opened = await small(4, '512MB', around)
    const rows = Array.from({ length: 20 }, (_, n) => ({ ...large(MIB), eventId: n }))
    await loadRows(opened, events, rows.slice(0, 10))
    expect(threadsSet(statements)).toEqual([])
    await loadRows(opened, events, rows)
    expect(threadsSet(statements)).toEqual(["SET threads = '3'", "SET threads = '4'"])
    const [held] = await opened.warehouse.rows('SELECT count(*) AS rows FROM events')
    expect(held).toEqual({ rows: 20 })
  })

  it('restores the number of threads when it fails', { tags: 'long' }, async () => {
    await using opened = await small(4, '100MB', withoutDisk)
    await expect(loadRows(opened, events, [large(16 * MIB)])).rejects.toBeDefined()
    expect(await threadsOf(opened)).toBe(4)
  })
})

const item = (id: number) => ({ id, text: `${id}`.padEnd(800, '.') })

it('items are streamed next to their rows, so a load of many items needs no second attempt', {
  tags: 'long',
}, async () => {
  const failed: string[] = []
  await using opened = await small(2, '100MB', (sql, run) =>
    run().catch((error: unknown) => {
      failed.push(`${sql.slice(0, 40)}: ${String(error)}`)
      throw error
    }),
  )
  const rows = Array.from({ length: 60_000 }, (_, n) => ({
    ...event({ eventId: n }),
    meetingRooms: [item(2 * n), item(2 * n + 1)],
  }))
  await loadRows(opened, events, rows)
  expect(failed).toEqual([])
  const [held] = await opened.warehouse.rows('SELECT count(*)::INT AS items FROM events__meeting_rooms')
  expect(held).toEqual({ items: 120_000 })
})

it('a load into a large table gets eight bytes more for each row, once, and then a single thread', async () => {
  await using database = await Database.open(':memory:', { memory: '100MB', threads: 2 })
  await database.run('CREATE TABLE t AS SELECT range AS n FROM range(4_000_000)')
  const short = new SyncError('WAREHOUSE_MEMORY', 'no more memory', { cure: 'Raise limits.warehouse_memory.' })
  const seen: unknown[] = []
  const failing = (times: number) => async () => {
    seen.push(
      ...(await database.rows(
        `SELECT current_setting('memory_limit') AS memory, current_setting('threads') AS threads`,
      )),
    )
    if (seen.length < times) throw short
  }
  await withMemory(database, { bytes: 0, rowBytesMax: 0 }, failing(3))
  expect(seen).toEqual([
    { memory: '95.3 MiB', threads: 2 },
    { memory: '126.3 MiB', threads: 2 },
    { memory: '126.3 MiB', threads: 1 },
  ])
  await expect(withMemory(database, { bytes: 0, rowBytesMax: 0 }, failing(100))).rejects.toBe(short)
  expect(seen.slice(3)).toEqual([
    { memory: '126.3 MiB', threads: 2 },
    { memory: '126.3 MiB', threads: 1 },
  ])
})

it('a small load gets more memory for each column, until the next checkpoint, publication or larger load', async () => {
  await using opened = await small(2, '128MB')
  const limit = async () =>
    (await opened.warehouse.rows<{ memory: string }>(`SELECT current_setting('memory_limit') AS memory`))[0]
  const usual = { memory: '122.0 MiB' }
  await loadRows(opened, events, [event({})])
  const raised = await limit()
  expect(Number.parseFloat(raised?.memory ?? '')).toBeGreaterThan(150)
  await opened.warehouse.checkpoint()
  expect(await limit()).toEqual(usual)
  await loadRows(opened, events, [event({ name: 'changed' })], { observedAt: '2026-03-01T13:00:00Z' })
  expect(await limit()).toEqual(raised)
  await opened.warehouse.publish(`${opened.folder}/published.duckdb`)
  expect(await limit()).toEqual(usual)
  await loadRows(opened, enquiries, [{ enquiryId: 1 }])
  expect(await limit()).not.toEqual(usual)
  await loadRows(opened, events, [large(2 * MIB)], { observedAt: '2026-03-01T14:00:00Z' })
  expect(await limit()).toEqual(usual)
})

it('a raised limit of more than 1 GiB goes back to the configured bytes, not to the rounded text of DuckDB', async () => {
  const limits: string[] = []
  const around: AroundStatement = (sql, run) => {
    if (sql.startsWith('SET memory_limit')) limits.push(sql)
    return run()
  }
  const short = new SyncError('WAREHOUSE_MEMORY', 'no more memory', { cure: 'Raise limits.warehouse_memory.' })
  await using database = await Database.open(':memory:', { memory: '2150MB', threads: 1, around })
  const reserve = (bytes: number) => reserveForNewRows(database, { bytes, report: 'events', columns: 200 })
  await reserve(1)
  await reserve(2 * MIB)
  let tries = 0
  await withMemory(database, { bytes: 20 * MIB, rowBytesMax: 10 * MIB }, async () => {
    tries += 1
    if (tries === 1) throw short
  })
  const usual = 2_150_000_000
  const expected = [usual + 100 * MIB, usual, usual + 240 * MIB, usual]
  expect(limits).toEqual(expected.map((bytes) => `SET memory_limit = '${bytes}B'`))
  expect(await database.rows(`SELECT current_setting('memory_limit') AS memory`)).toEqual([{ memory: '2.0 GiB' }])
})

it('a checkpoint and a larger load succeed although DuckDB cannot free the memory of a small load', async () => {
  await using folder = await aFolder()
  const path = `${folder.path}/large.duckdb`
  await using database = await Database.open(path, { memory: '40MB', threads: 1, spillDirectory: `${path}.spill` })
  await database.run('CREATE TABLE t AS SELECT range AS n FROM range(5_000_000); CHECKPOINT')
  const reserve = (bytes: number, columns: number) => reserveForNewRows(database, { bytes, report: 'events', columns })
  await reserve(1, 200)
  // DuckDB keeps in memory which rows of each vector are deleted: here more than 40 MB.
  for (const rest of [0, 1]) await database.run(`DELETE FROM t WHERE n % 2_048 = ${rest}`)
  await expect(database.run(`SET memory_limit = '40MB'`)).rejects.toThrow('could not free up enough memory')
  await database.exclusive((run) => checkpoint(database, run))
  await reserve(1, 10)
  await reserve(2 * MIB, 10)
  expect(await database.rows('SELECT count(*)::INTEGER AS n FROM t')).toEqual([{ n: 4_995_116 }])
})

it('a statement that fails while its joins keep their order leaves the next ones planned as ever', async () => {
  await using database = await Database.open(':memory:', { memory: '100MB' })
  await database.run('CREATE TABLE t AS SELECT 1 AS n; CREATE UNIQUE INDEX once ON t (n)')
  const twice = database.transaction((sql) => sql.rowsInOrder('INSERT INTO t VALUES (1)'))
  await expect(twice).rejects.toThrow(/[Dd]uplicate key/)
  const plans = await database.rows(`SELECT current_setting('disabled_optimizers') AS without`)
  expect(plans).toEqual([{ without: '' }])
})
