/** Limits the threads and the memory that DuckDB uses for one load. */
import { SyncError } from '../../errors.ts'
import type { Database } from './duckdb.ts'

/** During a load of this number of staged bytes or more, the walk usually reads the rows of the next load. */
const LARGE_LOAD_BYTES_MIN = 16 * 1024 * 1024

/**
 * Runs a load of `bytes` staged bytes. A large load leaves one thread to the walk, which fetches and scans pages
 * meanwhile. With all threads, DuckDB would use more memory, and the sync would not be faster.
 */
export async function withThreads<T>(database: Database, bytes: number, work: () => Promise<T>): Promise<T> {
  if (bytes < LARGE_LOAD_BYTES_MIN) return work()
  const threads = await threadsOf(database)
  return threads === 1 ? work() : onThreads(database, { usual: threads, now: threads - 1 }, work)
}

/**
 * Bytes to add to the memory limit per stored row, because a limit for small tables is too small for large ones. After
 * some tens of loads into millions of rows, DuckDB needs more memory for data that it can't spill (bench/NOTES.md).
 */
const BYTES_A_ROW = 8
/** The limit is not raised by less than this, because that would not help. */
const INCREASE_MIB_MIN = 16

const MIB = 2 ** 20
const MIB_OF: Readonly<Record<string, number>> = { bytes: 1 / MIB, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: MIB }

/**
 * Runs `work`. If it runs out of memory, runs it again: first with a higher limit if the tables are large, and last on
 * a single thread. Throws WAREHOUSE_MEMORY if it still runs out of memory.
 */
export async function withMemory<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'WAREHOUSE_MEMORY') throw error
    // This recursion ends, because the limit is only raised again after further rows were stored.
    if (await raiseLimit(database)) return withMemory(database, work)
    // Each thread has buffers for the rows that it reads, so a single thread needs the least memory.
    const usual = await threadsOf(database)
    if (usual === 1) throw error
    return onThreads(database, { usual, now: 1 }, work)
  }
}

/** How many MiB were added to the memory limit of each database. */
const added = new WeakMap<Database, number>()

/**
 * Raises DuckDB's memory limit by `BYTES_A_ROW` for each stored row, until the database is closed. Returns false if the
 * limit was already raised, or would be raised by too little to help.
 */
async function raiseLimit(database: Database): Promise<boolean> {
  const [now] = await database.rows<{ memory: string; rows: number }>(`
    SELECT current_setting('memory_limit') AS memory, (
      SELECT coalesce(sum(estimated_size), 0)::BIGINT FROM duckdb_tables()
      WHERE database_name = current_database() AND NOT temporary) AS rows`)
  const [amount = '', unit = ''] = now?.memory.split(' ') ?? []
  const limit = Number(amount) * (MIB_OF[unit] ?? Number.NaN)
  const wanted = Math.ceil(((now?.rows ?? 0) * BYTES_A_ROW) / MIB)
  const more = wanted - (added.get(database) ?? 0)
  if (Number.isNaN(limit) || more < INCREASE_MIB_MIN) return false
  added.set(database, wanted)
  await database.run(`SET memory_limit = '${Math.ceil(limit) + more}MiB'`)
  return true
}

async function threadsOf(database: Database): Promise<number> {
  const [set] = await database.rows<{ threads: number }>(`SELECT current_setting('threads') AS threads`)
  return set?.threads ?? 1
}

/** Runs `work` on `now` threads, then sets the number of threads back to `usual`. */
async function onThreads<T>(
  database: Database,
  { usual, now }: { readonly usual: number; readonly now: number },
  work: () => Promise<T>,
): Promise<T> {
  await database.run(`SET threads = ${now}`)
  try {
    return await work()
  } finally {
    await database.run(`SET threads = ${usual}`)
  }
}
