/** Limits the threads and the memory that DuckDB uses for one load. */
import { assert, SyncError } from '../../errors.ts'
import { parseByteSize } from '../../units.ts'
import type { Database } from './duckdb.ts'
import { onlyRow, type Sql } from './sql.ts'

/** Larger loads leave one thread free for reading the next rows. */
const LARGE_LOAD_BYTES_MIN = 16 * 1024 * 1024
/** Smaller loads use one thread, which needs less processor time (bench/NOTES.md). */
const SMALL_LOAD_BYTES_MAX = 1024 * 1024

export async function withThreads<T>(database: Database, bytes: number, work: () => Promise<T>): Promise<T> {
  const isSmall = bytes > 0 && bytes < SMALL_LOAD_BYTES_MAX
  if (!isSmall && bytes < LARGE_LOAD_BYTES_MIN) return work()
  const threads = await threadsOf(database)
  return threads === 1 ? work() : onThreads(database, isSmall ? 1 : threads - 1, work)
}

export interface LoadSize {
  readonly bytes: number
  readonly rowBytesMax: number
}

/** Memory added per stored row, because loads into large tables need more. */
const BYTES_A_ROW = 8
const INCREASE_MIB_MIN = 16

const MIB = 2 ** 20

/** Runs `work`, with more memory if it runs out, then on one thread. Throws WAREHOUSE_MEMORY if all attempts fail. */
export async function withMemory<T>(database: Database, size: LoadSize, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMemoryError(error)) throw error
    // This recursion ends: while the number of stored rows stays the same, `raiseLimit` returns true only once.
    if (await raiseLimit(database)) return withMemory(database, size, work)
    const forLongRows = (failure: unknown) => withLongRows(database, { size, failure }, work)
    // A single thread needs the least memory, because each thread has buffers.
    if ((await threadsOf(database)) === 1) return forLongRows(error)
    return onThreads(database, 1, () => work().catch(forLongRows))
  }
}

const isMemoryError = (error: unknown): boolean => error instanceof SyncError && error.code === 'WAREHOUSE_MEMORY'

/** Memory needed to parse a row, as a multiple of its size. */
const COPIES_OF_A_ROW = 14
/** Memory needed to replace 2,048 rows, as a multiple of their size. */
const COPIES_OF_A_VECTOR = 5
const ROWS_OF_A_VECTOR = 2_048
/** The largest increase for long rows: with the default memory limit, the process stays below 1 GiB. */
const LONG_ROWS_MIB_MAX = 384

async function withLongRows<T>(
  database: Database,
  { size: { rowBytesMax, bytes }, failure }: { readonly size: LoadSize; readonly failure: unknown },
  work: () => Promise<T>,
): Promise<T> {
  const vector = Math.min(bytes, ROWS_OF_A_VECTOR * rowBytesMax)
  const wanted = Math.ceil((COPIES_OF_A_ROW * rowBytesMax + COPIES_OF_A_VECTOR * vector) / MIB)
  if (!isMemoryError(failure) || wanted < INCREASE_MIB_MIN) throw failure
  const limit = limitOf(database)
  const setFor = (mib: number) => {
    limit.forLongRows = mib
    return setLimit(limit, (sql) => database.run(sql))
  }
  await setFor(Math.min(wanted, LONG_ROWS_MIB_MAX))
  try {
    return await work()
  } finally {
    await setFor(0)
  }
}

/** The parts of DuckDB's memory limit: the configured bytes, and increases in MiB. */
interface MemoryLimit {
  /** The configured limit. It is not read from DuckDB, which returns it as rounded text. */
  readonly bytes: number
  forRows: number
  forLongRows: number
  readonly forNewRows: Map<string, number>
}

const limits = new WeakMap<Database, MemoryLimit>()

function limitOf(database: Database): MemoryLimit {
  const bytes = parseByteSize(database.memory)
  assert(bytes !== undefined, `${database.memory} is not a size`)
  const limit = limits.get(database) ?? { bytes, forRows: 0, forLongRows: 0, forNewRows: new Map<string, number>() }
  limits.set(database, limit)
  return limit
}

/** Keeps the old limit if DuckDB can't free enough memory for a lower one. */
async function setLimit(limit: MemoryLimit, run: Sql['run']): Promise<void> {
  const forNewRows = [...limit.forNewRows.values()].reduce((sum, mib) => sum + mib, 0)
  const added = limit.forRows + limit.forLongRows + Math.min(forNewRows, NEW_ROWS_MIB_MAX)
  await run(`SET memory_limit = '${limit.bytes + added * MIB}B'`).catch((error: unknown) => {
    if (!isMemoryError(error)) throw error
  })
}

/** The first COMMIT after a checkpoint reserves this much per column. */
const NEW_ROWS_MIB_A_COLUMN = 0.5
const NEW_ROWS_MIB_MAX = 128

type ColumnsOfLoad = Pick<LoadSize, 'bytes'> & Readonly<{ report: string; columns: number }>

/** Raises the memory limit for small loads, because DuckDB reserves more memory than they fill. */
export async function reserveForNewRows(database: Database, { bytes, report, columns }: ColumnsOfLoad): Promise<void> {
  if (bytes === 0) return
  if (bytes >= SMALL_LOAD_BYTES_MAX) return releaseNewRows(database, (sql) => database.run(sql))
  const limit = limitOf(database)
  const wanted = Math.ceil(columns * NEW_ROWS_MIB_A_COLUMN)
  if (limit.forNewRows.get(report) === wanted) return
  limit.forNewRows.set(report, wanted)
  await setLimit(limit, (sql) => database.run(sql))
}

/** Writes a checkpoint, which frees the memory reserved for new rows. */
export async function checkpoint(database: Database, run: Sql['run']): Promise<void> {
  await run('CHECKPOINT')
  await releaseNewRows(database, run)
}

async function releaseNewRows(database: Database, run: Sql['run']): Promise<void> {
  const limit = limits.get(database)
  if (limit === undefined || limit.forNewRows.size === 0) return
  limit.forNewRows.clear()
  await setLimit(limit, run)
}

/** Raises the memory limit. Returns false if the increase would be too small. */
async function raiseLimit(database: Database): Promise<boolean> {
  const { rows } = await onlyRow<{ rows: number }>(
    database,
    'SELECT coalesce(sum(estimated_size), 0)::BIGINT AS rows FROM duckdb_tables() WHERE database_name = current_database() AND NOT temporary',
  )
  const limit = limitOf(database)
  const wanted = Math.ceil((rows * BYTES_A_ROW) / MIB)
  if (wanted - limit.forRows < INCREASE_MIB_MIN) return false
  limit.forRows = wanted
  await setLimit(limit, (sql) => database.run(sql))
  return true
}

const threadsOf = async (database: Database): Promise<number> =>
  (await onlyRow<{ threads: number }>(database, `SELECT current_setting('threads') AS threads`)).threads

async function onThreads<T>(database: Database, threads: number, work: () => Promise<T>): Promise<T> {
  const usual = await threadsOf(database)
  await database.run(`SET threads = '${threads}'`)
  try {
    return await work()
  } finally {
    await database.run(`SET threads = '${usual}'`)
  }
}
