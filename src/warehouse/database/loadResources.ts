/** Limits the threads and the memory that DuckDB uses for one load. */
import { SyncError } from '../../errors.ts'
import type { Database } from './duckdb.ts'
import { onlyRow, type Sql } from './sql.ts'

/** Larger loads leave one thread free for reading the next rows. */
const LARGE_LOAD_BYTES_MIN = 16 * 1024 * 1024
/** Smaller loads use one thread, which needs less processor time (bench/NOTES.md). */
const SMALL_LOAD_BYTES_MAX = 1024 * 1024

export async function withThreads<T>(database: Database, bytes: number, work: () => Promise<T>): Promise<T> {
  const isSmall = bytes > 0 && bytes < SMALL_LOAD_BYTES_MAX
  if (!isSmall && bytes < LARGE_LOAD_BYTES_MIN) return work()
  const threads = await settingOf<number>(database, 'threads')
  return threads === 1 ? work() : withSetting(database, ['threads', isSmall ? 1 : threads - 1], work)
}

export interface LoadSize {
  readonly bytes: number
  readonly rowBytesMax: number
}

/** Memory added per stored row, because loads into large tables need more. */
const BYTES_A_ROW = 8
const INCREASE_MIB_MIN = 16

const MIB = 2 ** 20
const MIB_OF: Readonly<Record<string, number>> = { bytes: 1 / MIB, KiB: 1 / 1024, MiB: 1, GiB: 1024, TiB: MIB }

/** Retries `work` with more memory, then on one thread. Throws WAREHOUSE_MEMORY. */
export async function withMemory<T>(database: Database, size: LoadSize, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMemoryError(error)) throw error
    // `raiseLimit` returns true only once for the same number of stored rows.
    if (await raiseLimit(database)) return withMemory(database, size, work)
    const forLongRows = (failure: unknown) => withLongRows(database, { size, failure }, work)
    // A single thread needs the least memory, because each thread has buffers.
    if ((await settingOf<number>(database, 'threads')) === 1) return forLongRows(error)
    return withSetting(database, ['threads', 1], () => work().catch(forLongRows))
  }
}

const isMemoryError = (error: unknown): boolean => error instanceof SyncError && error.code === 'WAREHOUSE_MEMORY'

/** Memory needed to parse a row, as a multiple of its size. */
const COPIES_OF_A_ROW = 14
/** Memory needed to replace 2,048 rows, as a multiple of their size. */
const COPIES_OF_A_VECTOR = 5
const ROWS_OF_A_VECTOR = 2_048
/** With the default limit, this increase keeps the process below 1 GiB. */
const LONG_ROWS_MIB_MAX = 384

async function withLongRows<T>(
  database: Database,
  { size: { rowBytesMax, bytes }, failure }: { readonly size: LoadSize; readonly failure: unknown },
  work: () => Promise<T>,
): Promise<T> {
  const vector = Math.min(bytes, ROWS_OF_A_VECTOR * rowBytesMax)
  const wanted = Math.ceil((COPIES_OF_A_ROW * rowBytesMax + COPIES_OF_A_VECTOR * vector) / MIB)
  if (!isMemoryError(failure) || wanted < INCREASE_MIB_MIN) throw failure
  const limit = inMib(await settingOf(database, 'memory_limit')) + Math.min(wanted, LONG_ROWS_MIB_MAX)
  return withSetting(database, ['memory_limit', `${Math.ceil(limit)}MiB`], work)
}

/** The parts of DuckDB's memory limit, in MiB. */
interface MemoryLimit {
  readonly setting: number
  forRows: number
  readonly forNewRows: Map<string, number>
}

const limits = new WeakMap<Database, MemoryLimit>()

async function limitOf(database: Database): Promise<MemoryLimit> {
  const setting = async () => inMib(await settingOf<string>(database, 'memory_limit'))
  const limit = limits.get(database) ?? { setting: await setting(), forRows: 0, forNewRows: new Map<string, number>() }
  limits.set(database, limit)
  return limit
}

/** Keeps the old limit if DuckDB can't free enough memory for a lower one. */
async function setLimit({ setting, forRows, forNewRows }: MemoryLimit, run: Sql['run']): Promise<void> {
  const added = [...forNewRows.values()].reduce((sum, mib) => sum + mib, forRows)
  const mib = Math.ceil(setting) + Math.min(added, forRows + NEW_ROWS_MIB_MAX)
  await run(`SET memory_limit = '${mib}MiB'`).catch((error: unknown) => {
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
  const limit = await limitOf(database)
  const wanted = Math.ceil(columns * NEW_ROWS_MIB_A_COLUMN)
  if (Number.isNaN(limit.setting) || limit.forNewRows.get(report) === wanted) return
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
  const limit = await limitOf(database)
  const wanted = Math.ceil((rows * BYTES_A_ROW) / MIB)
  if (Number.isNaN(limit.setting) || wanted - limit.forRows < INCREASE_MIB_MIN) return false
  limit.forRows = wanted
  await setLimit(limit, (sql) => database.run(sql))
  return true
}

function inMib(memory: string): number {
  const [amount = '', unit = ''] = memory.split(' ')
  return Number(amount) * (MIB_OF[unit] ?? Number.NaN)
}

const settingOf = async <T>(database: Database, setting: string): Promise<T> =>
  (await onlyRow<{ value: T }>(database, `SELECT current_setting('${setting}') AS value`)).value

type Setting = readonly [name: string, value: number | string]

async function withSetting<T>(database: Database, [name, value]: Setting, work: () => Promise<T>): Promise<T> {
  const usual = String(await settingOf(database, name)).replace(' ', '')
  await database.run(`SET ${name} = '${value}'`)
  try {
    return await work()
  } finally {
    await database.run(`SET ${name} = '${usual}'`)
  }
}
