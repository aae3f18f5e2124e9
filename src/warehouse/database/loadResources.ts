/** The threads and the memory that DuckDB may use for one load. */
import { SyncError } from '../../errors.ts'
import type { Database } from './duckdb.ts'

/** While a load has this many staged bytes or more, the walk usually reads the rows of the next load. */
const LARGE_LOAD_BYTES_MIN = 16 * 1024 * 1024

/**
 * Runs a load of `bytes` staged bytes. A large load leaves one thread to the walk that fetches and scans pages at the
 * same time. With all threads DuckDB uses more memory and the sync is no faster.
 */
export async function withThreads<T>(database: Database, bytes: number, work: () => Promise<T>): Promise<T> {
  if (bytes < LARGE_LOAD_BYTES_MIN) return work()
  const threads = await threadsOf(database)
  return threads === 1 ? work() : onThreads(database, { usual: threads, now: threads - 1 }, work)
}

/**
 * Additional memory for each stored row, because a limit that suits small tables is too small for large ones. After
 * some tens of loads into millions of rows, DuckDB has more in memory that it does not spill (bench/NOTES.md).
 */
const BYTES_A_ROW = 8
/** A smaller increase of the limit does not help. */
const INCREASE_MIB_MIN = 16

const MIB = 2 ** 20
const MIB_OF: Readonly<Record<string, number>> = { bytes: 1 / MIB, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: MIB }

/**
 * Runs `work`. If it runs out of memory, runs it again with a higher limit where the tables are large, and at last on
 * one thread. Throws WAREHOUSE_MEMORY when that is not enough either.
 */
export async function withMemory<T>(database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== 'WAREHOUSE_MEMORY') throw error
    // Only new rows raise the limit again, so this recursion ends.
    if (await raiseLimit(database)) return withMemory(database, work)
    // Each thread has its own buffers for the rows that it reads: one thread needs the least memory.
    const usual = await threadsOf(database)
    if (usual === 1) throw error
    return onThreads(database, { usual, now: 1 }, work)
  }
}

/** The MiB that were added to the limit of a database. */
const added = new WeakMap<Database, number>()

/**
 * Raises DuckDB's limit by `BYTES_A_ROW` for each stored row, until the database is closed. Returns false when the limit
 * was raised already, or when the increase would be too small to help.
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
