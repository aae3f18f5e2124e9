/** How much of a table a COMMIT tidies up: as much as its load changed, whatever lies there. */
import { describe, expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import type { Sql } from '../../src/warehouse/database/sql.ts'
import { compactionsFor } from '../../src/warehouse/database/settings.ts'
import { aFolder, loadRows, aWarehouse } from '../support/warehouse.ts'

/** A few rows more than a row group of DuckDB holds: each transaction leaves a full one and a remnant. */
const A_GROUP_AND_MORE = 122_880 + 2_100
const TRANSACTIONS = 8
const NEVER = () => 0

const insert = (rows: number) => (sql: Sql) => sql.run(`INSERT INTO t SELECT range FROM range(${rows})`)

async function groups(database: Database): Promise<number> {
  const [counted] = await database.rows<{ groups: number }>(
    `SELECT count(DISTINCT row_group_id) AS groups FROM pragma_storage_info('t')`,
  )
  return counted?.groups ?? 0
}

/** A file in whose table eight full row groups and eight remnants take turns. */
async function withRemnants<T>(use: (database: Database) => Promise<T>): Promise<T> {
  await using folder = await aFolder()
  await using database = await Database.open(`${folder.path}/w.duckdb`, { memory: '256MB' })
  await database.run('CREATE TABLE t (i BIGINT)')
  for (let n = 0; n < TRANSACTIONS; n += 1) await database.transaction(insert(A_GROUP_AND_MORE), NEVER)
  await database.run('CHECKPOINT')
  expect(await groups(database)).toBe(2 * TRANSACTIONS)
  return await use(database)
}

describe('a COMMIT', () => {
  it('that brought little rewrites a few row groups of a table at most, however many could be joined', async () => {
    await withRemnants(async (database) => {
      await database.transaction(insert(10))
      await database.run('CHECKPOINT')
      const left = await groups(database)
      expect(left).toBeLessThanOrEqual(2 * TRANSACTIONS)
      expect(left).toBeGreaterThanOrEqual(2 * TRANSACTIONS - 2)
    })
  })

  it('clears up more where more was replaced', { tags: 'long' }, async () => {
    await withRemnants(async (database) => {
      await database.transaction(insert(10), () => compactionsFor({ inserted: 0, updated: 1_000_000 }))
      await database.run('CHECKPOINT')
      expect(await groups(database)).toBeLessThan(2 * TRANSACTIONS - 2)
    })
  })

  it('leaves nothing undone for good: one after the other clears what is left', async () => {
    await withRemnants(async (database) => {
      for (let n = 0; n < TRANSACTIONS; n += 1) {
        await database.transaction(insert(10))
        await database.run('CHECKPOINT')
      }
      expect(await groups(database)).toBeLessThanOrEqual(TRANSACTIONS + 2)
    })
  })
})

describe('what a load may clear up', () => {
  it('is nothing for many new rows, one place for small changes, and more with each row that it replaced', () => {
    expect(compactionsFor({ inserted: 100_000, updated: 0 })).toBe(0)
    expect(compactionsFor({ inserted: 1_000, updated: 0 })).toBe(1)
    expect(compactionsFor({ inserted: 0, updated: 1_000 })).toBe(1)
    expect(compactionsFor({ inserted: 0, updated: 200_000 })).toBeGreaterThan(5)
  })
})

it.each([
  ['payloads are written with zstd, which takes less time and room than what DuckDB would choose', '_payload', 'ZSTD'],
  [
    'keys of children are written as they are, since each load that replaces rows looks for some',
    '_child_key',
    'Uncompressed',
  ],
])('%s', async (_, column, compression) => {
  await using opened = await aWarehouse()
  const rows = Array.from({ length: 50 }, (_each, n) => ({ eventId: n, meetingRooms: [{ id: n, text: `room ${n}` }] }))
  await loadRows(opened, events, rows)
  await opened.warehouse.rows('CHECKPOINT')
  const used = await opened.warehouse.rows(`
    SELECT DISTINCT compression FROM pragma_storage_info('events__meeting_rooms')
    WHERE column_name = '${column}' AND segment_type IN ('JSON', 'VARCHAR')`)
  expect(used).toEqual([{ compression }])
})

it('a database whose settings are locked, as that for readers is, still commits', async () => {
  await using database = await Database.open(':memory:', { memory: '64MB' })
  await database.run('SET lock_configuration = true')
  await database.transaction((sql) => sql.run('CREATE TABLE shown AS SELECT 1 AS n'))
  expect(await database.rows('FROM shown')).toEqual([{ n: 1 }])
})
