/**
 * The one file that knows DuckDB's driver. It opens a database with bounded memory, runs statements one at a time on
 * one connection, keeps a transaction whole (an error always rolls back: a COMMIT of an aborted transaction would
 * answer success and store nothing), and has our errors made of the driver's messages (databaseError.ts).
 */
import {
  DuckDBArrayValue,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  type DuckDBPreparedStatement,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
  StatementType,
} from '@duckdb/node-api'
import { isOutOfFiles, SyncError } from '../../errors.ts'
import { arrayOf, type Cell, exact, objectOf, readable, timeCell } from './cells.ts'
import { databaseError, OUT_OF_MEMORY } from './databaseError.ts'
import { untilFirst } from './retryConflicts.ts'
import { CLEARED_MIN, type FileOptions, settings } from './settings.ts'
import { name, text } from './sqlText.ts'

export interface DatabaseOptions extends FileOptions {
  readonly around?: AroundStatement | undefined
  /** The name of what other processes write at the same time: a transaction that they outran is done again. */
  readonly shared?: string
}

/** Runs each statement; a simulation delays, refuses or loses some of them here. */
export type AroundStatement = <T>(sql: string, run: () => Promise<T>) => Promise<T>

export type SqlValue = string | number | bigint | boolean | null
export type SqlRow = Record<string, SqlValue | Date>

/** Takes a piece of a result; false: it has enough. */
export type TakeRows = (rows: readonly (readonly Cell[])[], columns: readonly string[]) => Promise<boolean>

/** Runs statements; inside a transaction it is the transaction's own. */
export interface Sql {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>
  rows<T = SqlRow>(sql: string, values?: readonly SqlValue[]): Promise<T[]>
  /** The same with joins as they are written: the left side is read through, the right one held in memory. */
  rowsInOrder<T = SqlRow>(sql: string): Promise<T[]>
}

/** How often the COMMIT of a transaction with that result may clear up in each table (src/warehouse/database/settings.ts). */
export type Clears<T> = (result: T) => number

/** While this is set joins stay as they are written. DuckDB takes any file of lines for 42 rows, and would hold the file. */
const KEEP_ORDER = `SET disabled_optimizers = 'join_order,build_side_probe_side'`
const ANY_ORDER = 'RESET disabled_optimizers'

export class Database implements Sql, AsyncDisposable {
  readonly path: string
  /** Other processes write it too, and no lock keeps them out. */
  readonly isShared: boolean
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  readonly #around: AroundStatement
  #tail: Promise<unknown> = Promise.resolve()
  #closing = false
  #closed = false
  #clears = CLEARED_MIN

  private constructor(
    path: string,
    opened: { instance: DuckDBInstance; connection: DuckDBConnection },
    { around = (_, run) => run(), shared }: Pick<DatabaseOptions, 'around' | 'shared'>,
  ) {
    this.path = shared ?? path
    this.isShared = shared !== undefined
    this.#instance = opened.instance
    this.#connection = opened.connection
    this.#around = around
  }

  /** Opens or creates the file (`:memory:` for none). Errors: WAREHOUSE_LOCKED, _CORRUPT, _MISSING, DISK_FULL. */
  static async open(path: string, options: DatabaseOptions): Promise<Database> {
    try {
      const instance = await DuckDBInstance.create(path, settings(options))
      const connection = await instance.connect()
      await connection.run(`SET TimeZone = 'UTC'`)
      return new Database(path, { instance, connection }, options)
    } catch (error) {
      throw databaseError(error, path)
    }
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<void> {
    await this.#inTurn(() => this.#execute(sql, values))
  }

  async rows<T = SqlRow>(sql: string, values?: readonly SqlValue[]): Promise<T[]> {
    return this.#inTurn(() => this.#read<T>(sql, values))
  }

  async rowsInOrder<T = SqlRow>(sql: string): Promise<T[]> {
    return this.#inTurn(() => this.#read<T>(sql, undefined, true))
  }

  /**
   * Runs one reading statement and hands its rows over in pieces, until `take` says that it has enough.
   * Gives the names of the columns. Errors: QUERY_FAILED, CANCELLED.
   */
  async query(sql: string, take: TakeRows): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      try {
        const statement = await this.#readingStatement(sql)
        const result = await statement.stream()
        const types = result.columnTypes()
        const columns = result.deduplicatedColumnNames()
        const lossy = types.findIndex((type) => hasUnnamedFields(type as unknown as NestedType))
        if (lossy >= 0) throw unnamedFields(columns[lossy] ?? '')
        for await (const rows of result.yieldRows()) {
          const cells = rows.map((row) => row.map((value, index) => cellOf(value, types[index])))
          if (!(await take(cells, columns))) break
        }
        return columns
      } catch (error) {
        throw queryError(error)
      }
    })
  }

  /**
   * Writes the result of one reading statement as a Parquet file; gives the number of rows.
   * Errors: QUERY_FAILED, CANCELLED, DISK_FULL.
   */
  async writeParquet(sql: string, file: string): Promise<number> {
    return this.#inTurn(async () => {
      try {
        await this.#readingStatement(sql)
        const copy = `COPY (${await this.#storable(sql)}) TO ${text(file)} (FORMAT parquet, COMPRESSION zstd)`
        const [written] = (await this.#connection.runAndReadAll(copy)).getRowObjectsJS()
        return Number(written?.['Count'] ?? 0)
      } catch (error) {
        throw queryError(error)
      }
    })
  }

  /**
   * Runs `work` in one transaction: all of it is committed, or none. Where others write too it is run again from its
   * beginning when they were faster. `clears` says how much of each table its COMMIT may tidy up. Error: LAKE_BUSY.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, clears: Clears<T> = () => CLEARED_MIN): Promise<T> {
    const once = () => this.#transactOnce(work, clears)
    return this.#inTurn(() => (this.isShared ? untilFirst(once, this.path) : once()))
  }

  async #transactOnce<T>(work: (sql: Sql) => Promise<T>, clears: Clears<T>): Promise<T> {
    await this.#execute('BEGIN')
    try {
      const result = await work({
        run: (sql, values) => this.#execute(sql, values),
        rows: (sql, values) => this.#read(sql, values),
        rowsInOrder: (sql) => this.#read(sql, undefined, true),
      })
      await this.#execute('COMMIT', undefined, this.#toClear(clears(result)))
      return result
    } catch (error) {
      // The transaction may be gone already (disk full at COMMIT); what counts is that nothing of it stays.
      await this.#execute('ROLLBACK').catch(() => undefined)
      throw error
    }
  }

  /** Undefined where it is set so already: the server for readers has its settings locked. */
  #toClear(clears: number): string | undefined {
    if (clears === this.#clears) return undefined
    this.#clears = clears
    return `SET max_vacuum_tasks = ${clears}`
  }

  /** Runs `work` while no other statement runs; it may run statements of its own outside a transaction. */
  async exclusive<T>(work: (run: (sql: string) => Promise<void>) => Promise<T>): Promise<T> {
    return this.#inTurn(() => work((sql) => this.#execute(sql)))
  }

  /** Stops the statement that runs now; it rejects and its transaction rolls back. */
  interrupt(): void {
    if (!this.#closed) this.#connection.interrupt()
  }

  /** What was asked for before is done; what comes from now on is refused. Error of that: CANCELLED. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#tail
    if (this.#closed) return
    this.#closed = true
    this.#connection.closeSync()
    this.#instance.closeSync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Refuses what would write before it runs: the file is read-only, but a COPY could write others. */
  async #readingStatement(sql: string): Promise<DuckDBPreparedStatement> {
    const statements = await this.#connection.extractStatements(sql).catch((error: unknown) => {
      // The driver's answer to a text without any statement.
      if (/native callback/.test(String(error))) return undefined
      throw error
    })
    if (statements?.count !== 1) throw notOneStatement(sql, statements?.count ?? 0)
    const statement = await statements.prepare(0)
    const { statementType } = statement
    if (statementType === StatementType.SELECT || statementType === StatementType.EXPLAIN) return statement
    throw new SyncError('QUERY_FAILED', `only reading statements are run here, this is ${nameOf(statementType)}`, {
      cure: 'Write a SELECT. The published copy is made anew after each run: to keep results, write them to a file with --format csv, or open the copy from a database of your own.',
    })
  }

  /**
   * The statement as a source that Parquet can hold: 128-bit integers, such as any sum, would come out as doubles.
   * As a text, the statement may end as it likes: with a semicolon, with a comment.
   */
  async #storable(sql: string): Promise<string> {
    const source = `FROM query(${text(sql)})`
    const described = await this.#connection.runAndReadAll(`
      SELECT column_name FROM (DESCRIBE ${source}) WHERE column_type IN ('HUGEINT', 'UHUGEINT')`)
    const huge = (described.getColumns()[0] ?? []) as string[]
    const casts = huge.map((column) => `${name(column)}::DECIMAL(38,0) AS ${name(column)}`)
    return casts.length === 0 ? source : `SELECT * REPLACE (${casts.join(', ')}) ${source}`
  }

  /** One connection serves one statement or transaction at a time; others wait in order. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    // Begun while the connection is closed under it, a statement would end the process: the driver looks after neither.
    if (this.#closing) return Promise.reject(isClosed(this.path))
    const turn = this.#tail.then(work, work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** `first` is run in the same turn. */
  async #execute(sql: string, values?: readonly SqlValue[], first?: string): Promise<void> {
    try {
      await this.#around(sql, async () => {
        if (first !== undefined) await this.#connection.run(first)
        return this.#connection.run(sql, values === undefined ? undefined : [...values])
      })
    } catch (error) {
      throw databaseError(error, this.path)
    }
  }

  async #read<T>(sql: string, values?: readonly SqlValue[], keepsOrder = false): Promise<T[]> {
    const read = () => this.#connection.runAndReadAll(sql, values === undefined ? undefined : [...values])
    try {
      const reader = await this.#around(sql, keepsOrder ? () => this.#inOrder(read) : read)
      return reader.getRowObjectsJS().map(withSafeNumbers) as T[]
    } catch (error) {
      throw databaseError(error, this.path)
    }
  }

  async #inOrder<T>(read: () => Promise<T>): Promise<T> {
    await this.#connection.run(KEEP_ORDER)
    try {
      return await read()
    } catch (error) {
      // A transaction that has failed takes no statement but its end.
      await this.#connection.run('ROLLBACK').catch(() => undefined)
      throw error
    } finally {
      await this.#connection.run(ANY_ORDER)
    }
  }
}

const nameOf = (type: StatementType): string => StatementType[type]?.replaceAll('_', ' ') ?? 'another one'

const isClosed = (path: string): SyncError =>
  new SyncError('CANCELLED', `${path} is closed`, { cure: 'Start it again; it goes on where it stopped.' })

function notOneStatement(sql: string, count: number): SyncError {
  // DuckDB looks the values up in a statement of its own, which makes a type.
  const isPivot = /\bpivot/i.test(sql)
  return new SyncError(
    'QUERY_FAILED',
    `${count === 0 ? 'there is no statement' : `there are ${count} statements`} to run`,
    {
      cure: isPivot
        ? 'A PIVOT needs its values named to be one statement: PIVOT events ON status IN (…) USING count(*).'
        : 'Give one statement, such as "SELECT * FROM tidemark.freshness".',
    },
  )
}

/** The driver keeps the fields of a struct by their names: of those without one the last would be all that is shown. */
const hasUnnamedFields = (type: NestedType | undefined): boolean =>
  type !== undefined &&
  ((type.entryNames?.filter((each) => each === '').length ?? 0) > 1 ||
    [type.valueType, type.keyType, ...(type.entryTypes ?? [])].some((inner) =>
      hasUnnamedFields(inner as unknown as NestedType | undefined),
    ))

const unnamedFields = (column: string): SyncError =>
  new SyncError('QUERY_FAILED', `${column} holds values without names, which cannot be shown one by one`, {
    cure: "Name them, {'a': first, 'b': second} in place of (first, second), or cast the column: (first, second)::VARCHAR.",
  })

function cellOf(value: DuckDBValue, type: DuckDBType | undefined): Cell {
  if (value === null) return null
  if (typeof value === 'string') return type?.alias === 'JSON' ? exact(value) : readable(value)
  if (typeof value === 'number') return numberCell(value)
  if (typeof value === 'bigint' || typeof value === 'boolean' || value instanceof DuckDBDecimalValue)
    return exact(value.toString())
  if (value instanceof DuckDBTimestampTZValue) return timeCell(value.micros, 'Z') ?? readable(value.toString())
  if (value instanceof DuckDBTimestampValue) return timeCell(value.micros, '') ?? readable(value.toString())
  // The driver shows the days that stand for infinity as a date.
  if (value instanceof DuckDBDateValue && !value.isFinite) return readable(value.days > 0 ? 'infinity' : '-infinity')
  return nestedCell(value, type as unknown as NestedType)
}

function numberCell(value: number): Cell {
  if (!Number.isFinite(value)) return readable(String(value))
  return exact(Object.is(value, -0) ? '-0.0' : String(value))
}

/** What nested types say of their parts. */
interface NestedType {
  readonly valueType?: DuckDBType
  readonly keyType?: DuckDBType
  readonly entryNames?: readonly string[]
  readonly entryTypes?: readonly DuckDBType[]
}

function nestedCell(value: NonNullable<DuckDBValue>, type: NestedType): Cell {
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return arrayOf(value.items.map((item) => cellOf(item, type.valueType)))
  if (value instanceof DuckDBStructValue) {
    const types = type.entryTypes ?? []
    return objectOf(Object.entries(value.entries).map(([name, each], index) => [name, cellOf(each, types[index])]))
  }
  if (value instanceof DuckDBMapValue)
    return objectOf(
      value.entries.map(({ key, value }) => [cellOf(key, type.keyType)?.text ?? '', cellOf(value, type.valueType)]),
    )
  return readable(String(value))
}

function queryError(thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (message.startsWith('INTERRUPT')) return databaseError(thrown, '')
  if (isOutOfFiles(thrown) || /No space left on device|ENOSPC/.test(message)) return databaseError(thrown, 'the result')
  return new SyncError('QUERY_FAILED', message.replace('Failed to extract statements: ', ''), {
    cure: OUT_OF_MEMORY.test(message)
      ? 'Raise limits.query_memory, for instance to 4GB, or ask for fewer columns or rows at once.'
      : 'Correct the statement. "SHOW ALL TABLES" lists the tables, "DESCRIBE events" the columns of one.',
    cause: thrown,
  })
}

/** BIGINTs that a JavaScript number holds exactly come as numbers. */
function withSafeNumbers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) {
      row[name] = Number(value)
    }
  }
  return row
}
