/**
 * What a load is given that DuckDB's memory did not suffice for, before it fails: more memory where the tables are
 * large, then a single thread.
 */
import { SyncError } from '../../errors.ts'
import type { Database } from './duckdb.ts'
import { onThreads, threadsOf } from './threads.ts'

/**
 * A limit that is enough for small tables is spent by large ones, however little changes: after some tens of loads into
 * millions of rows DuckDB holds more that it doesn't spill (bench/NOTES.md). So much for each row is added.
 */
const BYTES_A_ROW = 8
/** Less than this is no cure. */
const MORE_MIB_MIN = 16

const MIB = 2 ** 20
const MIB_OF: Readonly<Record<string, number>> = { bytes: 1 / MIB, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: MIB }

/** Does `work`, and again with more memory or on one thread where it did not suffice. Error: WAREHOUSE_MEMORY. */
export async function withMemory<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isShortOfMemory(error)) throw error
    // Only rows that came since raise it again, so this ends.
    if (await raisesLimit(database)) return withMemory(database, work)
    return onOneThread(database, work, error)
  }
}

const isShortOfMemory = (error: unknown): boolean => error instanceof SyncError && error.code === 'WAREHOUSE_MEMORY'

/** How many MiB were added to the limit of a database. */
const added = new WeakMap<Database, number>()

/**
 * Adds to DuckDB's limit what the rows that it holds may take, for as long as the database is open. False: that was done,
 * or is too little to matter.
 */
async function raisesLimit(database: Database): Promise<boolean> {
  const [now] = await database.rows<{ memory: string; rows: number }>(`
    SELECT current_setting('memory_limit') AS memory, (
      SELECT coalesce(sum(estimated_size), 0)::BIGINT FROM duckdb_tables()
      WHERE database_name = current_database() AND NOT temporary) AS rows`)
  const [amount = '', unit = ''] = now?.memory.split(' ') ?? []
  const limit = Number(amount) * (MIB_OF[unit] ?? Number.NaN)
  const wanted = Math.ceil(((now?.rows ?? 0) * BYTES_A_ROW) / MIB)
  const more = wanted - (added.get(database) ?? 0)
  if (Number.isNaN(limit) || more < MORE_MIB_MIN) return false
  added.set(database, wanted)
  await database.run(`SET memory_limit = '${Math.ceil(limit) + more}MiB'`)
  return true
}

/** Each thread has buffers of its own for the rows that it reads: where they don't fit memory all together, one does. */
async function onOneThread<T>(database: Database, work: () => Promise<T>, error: unknown): Promise<T> {
  const usual = await threadsOf(database)
  if (usual === 1) throw error
  return onThreads(database, { usual, now: 1 }, work)
}
