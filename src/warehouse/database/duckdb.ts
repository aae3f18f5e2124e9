/** The only file that uses DuckDB's driver. Statements run one at a time, except those of lakeLock.ts. */
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
import { cancelled, isOutOfFiles, SyncError } from '../../errors.ts'
import { turns } from '../../turns.ts'
import { arrayOf, type Cell, jsonCell, objectOf, textCell, timeCell } from './cells.ts'
import { claimFile } from './claimFile.ts'
import { databaseError, isOutdated, OUT_OF_MEMORY, repeatConflicts } from './databaseError.ts'
import { QueryCache } from './queryCache.ts'
import { COMPACTIONS_MIN, type FileOptions, settings } from './settings.ts'
import { STORAGE_FAULT } from './storage.ts'
import { name, type Sql, type SqlRow, type SqlValue, text } from './sql.ts'
import { takeLakeLock } from './lakeLock.ts'

export interface DatabaseOptions extends FileOptions {
  readonly around?: AroundStatement | undefined
  /** The name of a lake in messages. Undefined for a file, which no other process writes. */
  readonly lakeName?: string
  /** The lake that each transaction locks (lakeLock.ts). If undefined, a commit needs no lock. */
  readonly lockedLake?: string | undefined
}

/** Executes a statement by calling `run`. A simulation can make it fail. */
export type AroundStatement = <T>(sql: string, run: () => Promise<T>) => Promise<T>

/** Receives some rows of a query result. Returns false if it needs no more rows. */
export type TakeRows = (rows: readonly (readonly Cell[])[], columns: readonly string[]) => Promise<boolean>

type CompactionLimit<T> = (result: T) => number

/** DuckDB assumes 42 rows in every file, so its join order is bad. Its search for common expressions costs too much. */
const KEEP_ORDER = `SET disabled_optimizers = 'join_order,build_side_probe_side,common_subexpressions'`
const ANY_ORDER = 'RESET disabled_optimizers'

export class Database implements Sql, AsyncDisposable {
  readonly path: string
  readonly memory: string
  readonly isShared: boolean
  readonly #opened: DisposableStack
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  readonly #around: AroundStatement
  readonly #lockedLake: string | undefined
  #side: DuckDBConnection | undefined
  readonly #cache = new QueryCache()
  /** Runs statements without waiting for a turn. Only work that `#inTurn` has started may use this. */
  readonly #atOnce: Sql = {
    run: (sql, values) => this.#execute(sql, values),
    rows: (sql, values) => this.#read(sql, values),
    cachedRows: (sql) => this.#readCached(sql),
    rowsInOrder: (sql) => this.#read(sql, undefined, true),
  }
  readonly #turns = turns()
  #closing = false
  #compactions = COMPACTIONS_MIN
  #damage: SyncError | undefined
  #isOutdated = false
  #postponed: ((sql: Sql) => Promise<void>) | undefined

  private constructor(
    path: string,
    [opened, instance, connection]: readonly [DisposableStack, DuckDBInstance, DuckDBConnection],
    { around = (_, run) => run(), lakeName, lockedLake, memory }: DatabaseOptions,
  ) {
    this.memory = memory
    this.#lockedLake = lockedLake
    this.path = lakeName ?? path
    this.isShared = lakeName !== undefined
    this.#opened = opened
    this.#instance = instance
    this.#connection = connection
    this.#around = around
  }

  get damage(): SyncError | undefined {
    return this.#damage
  }

  /** True if an error showed that the lake must be attached again. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  /** Opens or creates the file or `:memory:`. Throws errors such as WAREHOUSE_LOCKED. */
  static async open(path: string, options: DatabaseOptions): Promise<Database> {
    try {
      using opening = new DisposableStack()
      opening.use(await claimFile(path, options.readOnly === true))
      const instance = opening.adopt(await DuckDBInstance.create(path, settings(options)), (each) => each.closeSync())
      const connection = opening.adopt(await instance.connect(), (each) => each.closeSync())
      await connection.run(`SET TimeZone = 'UTC'`)
      // If DuckDB can't free enough memory, the limit stays at `replayMemory`.
      const lower = () => connection.run(`SET memory_limit = ${text(options.memory)}`).catch(() => undefined)
      if (options.replayMemory !== undefined) await lower()
      // DuckDB ignores this setting in the options of a new instance.
      if (options.disk !== undefined) await connection.run(`SET max_temp_directory_size = ${text(options.disk)}`)
      return new Database(path, [opening.move(), instance, connection], options)
    } catch (error) {
      throw databaseError(error, path)
    }
  }

  run(sql: string, values?: readonly SqlValue[]): Promise<void> {
    // A transaction can be retried after a conflict with another process.
    if (this.isShared && /^\s*(?:INSERT|UPDATE|DELETE)\b/.test(sql))
      return this.transaction((once) => once.run(sql, values))
    return this.#inTurn(() => this.#execute(sql, values))
  }

  rows<T = SqlRow>(sql: string, values?: readonly SqlValue[]): Promise<T[]> {
    return this.#inTurn(() => this.#read<T>(sql, values))
  }

  /** Returns cached rows if possible. Postponed work does not run first, so the query must not depend on that work. */
  cachedRows<T = SqlRow>(sql: string): Promise<T[]> {
    return this.#inTurn(() => this.#readCached<T>(sql), { runsPostponed: false })
  }

  /** Runs `work` in a transaction before the next statement or `close`. `cachedRows` does not wait for it. */
  postpone(work: (sql: Sql) => Promise<void>): void {
    this.#postponed = work
  }

  rowsInOrder<T = SqlRow>(sql: string): Promise<T[]> {
    return this.#inTurn(() => this.#read<T>(sql, undefined, true))
  }

  /** Passes the rows of a read-only statement to `take`. Returns the column names. */
  query(sql: string, take: TakeRows): Promise<readonly string[]> {
    return this.#queryInTurn(sql, async (statement) => {
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
    })
  }

  writeParquet(sql: string, file: string): Promise<number> {
    return this.#queryInTurn(sql, async () => {
      const copy = `COPY (${await this.#storable(sql)}) TO ${text(file)} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)`
      const [written] = (await this.#connection.runAndReadAll(copy)).getRowObjectsJS()
      return Number(written?.['Count'] ?? 0)
    })
  }

  /** Runs `work` in one transaction. In a lake, retries it after conflicts. */
  transaction<T>(work: (sql: Sql) => Promise<T>, limit: CompactionLimit<T> = () => COMPACTIONS_MIN): Promise<T> {
    const once = async () => {
      await using _ = await this.#takeLakeLock()
      return await this.#transactOnce(work, limit)
    }
    return this.#inTurn(() => (this.isShared ? repeatConflicts(once, this.path) : once()))
  }

  async #takeLakeLock(): Promise<AsyncDisposable | undefined> {
    if (this.#lockedLake === undefined) return undefined
    const side = (this.#side ??= this.#opened.adopt(await this.#instance.connect(), (each) => each.closeSync()))
    const fail = (error: unknown): never => {
      throw this.#failure(error)
    }
    const run = (statement: string) => side.runAndReadAll(statement).then((reader) => reader.getRowObjectsJS(), fail)
    return takeLakeLock(run, this.#lockedLake)
  }

  async #transactOnce<T>(work: (sql: Sql) => Promise<T>, limit: CompactionLimit<T>): Promise<T> {
    await this.#execute('BEGIN')
    try {
      const result = await work(this.#atOnce)
      const compactions = limit(result)
      const change = compactions === this.#compactions ? undefined : `SET max_vacuum_tasks = ${compactions}`
      this.#compactions = compactions
      await this.#execute('COMMIT', undefined, change)
      return result
    } catch (error) {
      // A COMMIT after an error would seem to succeed, although DuckDB has discarded the changes.
      await this.#execute('ROLLBACK').catch(() => undefined)
      throw error
    }
  }

  /** Runs `work` without a transaction, while no other statement runs. */
  exclusive<T>(work: (run: (sql: string) => Promise<void>) => Promise<T>): Promise<T> {
    return this.#inTurn(() => work((sql) => this.#execute(sql)))
  }

  interrupt(): void {
    if (this.#opened.disposed) return
    this.#connection.interrupt()
    this.#side?.interrupt()
  }

  /** Finishes queued statements, then closes. Rejects later statements with CANCELLED. */
  async close(): Promise<void> {
    if (!this.#closing) this.#turns(() => this.#runPostponed()).catch(() => undefined)
    this.#closing = true
    await this.#turns(async () => this.#opened.dispose())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Rejects statements that write, because a read-only database still allows COPY. */
  #queryInTurn<T>(sql: string, read: (statement: DuckDBPreparedStatement) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      try {
        const statement = await this.#connection.prepare(sql)
        const { statementType: type } = statement
        if (type === StatementType.SELECT || type === StatementType.EXPLAIN) return await read(statement)
        const what = StatementType[type]?.replaceAll('_', ' ') ?? 'another one'
        const cure = 'Write a SELECT.'
        throw new SyncError('QUERY_FAILED', `only reading statements can run here, and this is ${what}`, { cure })
      } catch (error) {
        throw queryError(error)
      }
    })
  }

  /** Converts 128-bit integers to decimals, because COPY would write them as doubles. */
  async #storable(sql: string): Promise<string> {
    const source = `FROM query(${text(sql)})`
    const described = await this.#connection.runAndReadAll(`
      SELECT column_name FROM (DESCRIBE ${source}) WHERE column_type IN ('HUGEINT', 'UHUGEINT')`)
    const huge = (described.getColumns()[0] ?? []) as string[]
    const casts = huge.map((column) => `${name(column)}::DECIMAL(38,0) AS ${name(column)}`)
    return casts.length === 0 ? source : `SELECT * REPLACE (${casts.join(', ')}) ${source}`
  }

  /** Waits for all earlier work: a connection runs one transaction at a time. */
  #inTurn<T>(work: () => Promise<T>, { runsPostponed = true } = {}): Promise<T> {
    // A statement that begins while the connection is being closed would crash the process.
    if (this.#closing) return Promise.reject(cancelled(`${this.path} is closed`))
    return this.#turns(runsPostponed ? () => this.#runPostponed().then(work) : work)
  }

  async #runPostponed(): Promise<void> {
    const work = this.#postponed
    this.#postponed = undefined
    if (work !== undefined) await this.#transactOnce(work, () => COMPACTIONS_MIN)
  }

  async #execute(sql: string, values?: readonly SqlValue[], first?: string): Promise<void> {
    await this.#attempt(sql, async () => {
      if (first !== undefined) await this.#connection.run(first)
      return this.#connection.run(sql, values === undefined ? undefined : [...values])
    })
  }

  async #attempt<T>(sql: string, run: () => Promise<T>): Promise<T> {
    this.#cache.before(sql)
    try {
      return await this.#around(sql, run)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #failure(thrown: unknown): SyncError {
    const error = databaseError(thrown, this.path)
    this.#isOutdated ||= this.isShared && isOutdated((thrown as Error).message, this.path)
    if (error.code === 'WAREHOUSE_CORRUPT') this.#damage ??= error
    return error
  }

  #read<T>(sql: string, values?: readonly SqlValue[], keepsOrder = false): Promise<T[]> {
    const read = async () => {
      const reader = await this.#connection.runAndReadAll(sql, values === undefined ? undefined : [...values])
      return reader.getRowObjectsJS().map(withSafeNumbers) as T[]
    }
    return this.#attempt(sql, keepsOrder ? () => this.#inOrder(read) : read)
  }

  async #readCached<T>(sql: string): Promise<T[]> {
    const found = this.#cache.find(sql)
    if (found !== undefined) return found as T[]
    const rows = await this.#read<T>(sql)
    if (!this.isShared) this.#cache.store(sql, rows as object[])
    return rows
  }

  async #inOrder<T>(read: () => Promise<T>): Promise<T> {
    await this.#connection.run(KEEP_ORDER)
    try {
      return await read()
    } catch (error) {
      // DuckDB accepts only a ROLLBACK after an error.
      await this.#connection.run('ROLLBACK').catch(() => undefined)
      throw error
    } finally {
      await this.#connection.run(ANY_ORDER)
    }
  }
}

/** The driver loses all but one of several unnamed fields of a struct, so such values are refused. */
const hasUnnamedFields = (type: NestedType | undefined): boolean =>
  type !== undefined &&
  ((type.entryNames?.filter((each) => each === '').length ?? 0) > 1 ||
    [type.valueType, type.keyType, ...(type.entryTypes ?? [])].some((inner) =>
      hasUnnamedFields(inner as unknown as NestedType | undefined),
    ))

const unnamedFields = (column: string): SyncError =>
  new SyncError('QUERY_FAILED', `${column} holds values without names, which cannot be shown one by one`, {
    cure: "Give the values names, as in {'a': first, 'b': second}, or cast the column: (first, second)::VARCHAR.",
  })

function cellOf(value: DuckDBValue, type: DuckDBType | undefined): Cell {
  if (value === null) return null
  if (typeof value === 'string') return type?.alias === 'JSON' ? jsonCell(value) : textCell(value)
  if (typeof value === 'number') return numberCell(value)
  if (typeof value === 'bigint' || typeof value === 'boolean' || value instanceof DuckDBDecimalValue)
    return jsonCell(value.toString())
  if (value instanceof DuckDBTimestampTZValue) return timeCell(value.micros, 'Z') ?? textCell(value.toString())
  if (value instanceof DuckDBTimestampValue) return timeCell(value.micros, '') ?? textCell(value.toString())
  // The driver would convert an infinite date to an ordinary one.
  if (value instanceof DuckDBDateValue && !value.isFinite) return textCell(value.days > 0 ? 'infinity' : '-infinity')
  return nestedCell(value, type as unknown as NestedType)
}

function numberCell(value: number): Cell {
  if (!Number.isFinite(value)) return textCell(String(value))
  return jsonCell(Object.is(value, -0) ? '-0.0' : String(value))
}

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
  return textCell(String(value))
}

function queryError(thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (message.startsWith('INTERRUPT')) return databaseError(thrown, '')
  if (isOutOfFiles(thrown) || /No space left on device|ENOSPC/.test(message) || STORAGE_FAULT.test(message))
    return databaseError(thrown, 'the result')
  return new SyncError('QUERY_FAILED', message, {
    cure: OUT_OF_MEMORY.test(message)
      ? `Raise ${/max_temp_directory_size/.test(message) ? 'limits.query_disk' : 'limits.query_memory'}, for instance to 4GB, or ask for fewer columns or rows at once.`
      : 'Correct the statement. "SHOW ALL TABLES" lists the tables, "DESCRIBE events" the columns of one.',
    cause: thrown,
  })
}

function withSafeNumbers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) row[name] = Number(value)
  return row
}
