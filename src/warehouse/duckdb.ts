/**
 * The one file that knows DuckDB's driver. It opens a database with bounded memory, runs statements one at a time on
 * one connection, keeps a transaction whole (an error always rolls back: a COMMIT of an aborted transaction would
 * answer success and store nothing), and turns the driver's messages into our errors.
 */
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import { asSyncError, SyncError } from '../errors.ts'

export interface DatabaseOptions {
  readonly readOnly?: boolean
  /** DuckDB's own limit, such as `1GB`; what doesn't fit spills to `spillDirectory`. */
  readonly memory: string
  readonly threads?: number | undefined
  readonly spillDirectory?: string
}

export type SqlValue = string | number | bigint | boolean | null
export type SqlRow = Record<string, SqlValue | Date>

/** Runs statements; inside a transaction it is the transaction's own. */
export interface Sql {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>
  rows<T = SqlRow>(sql: string, values?: readonly SqlValue[]): Promise<T[]>
}

export class Database implements Sql, AsyncDisposable {
  readonly path: string
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  #tail: Promise<unknown> = Promise.resolve()
  #closed = false

  private constructor(path: string, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.path = path
    this.#instance = instance
    this.#connection = connection
  }

  /** Opens or creates the file (`:memory:` for none). Errors: WAREHOUSE_LOCKED, WAREHOUSE_CORRUPT, DISK_FULL. */
  static async open(path: string, options: DatabaseOptions): Promise<Database> {
    try {
      const instance = await DuckDBInstance.create(path, settings(options))
      const connection = await instance.connect()
      await connection.run(`SET TimeZone = 'UTC'`)
      return new Database(path, instance, connection)
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

  /** The result's columns with their types, and its rows as text, as people read them. */
  async table(sql: string, rowsMax: number): Promise<{ columns: readonly string[]; rows: (string | null)[][] }> {
    return this.#inTurn(async () => {
      try {
        const reader = await this.#connection.streamAndReadUntil(sql, rowsMax)
        const rows = reader.getRows().map((row) => row.map((value) => (value === null ? null : textOf(value))))
        return { columns: reader.columnNames(), rows }
      } catch (error) {
        throw databaseError(error, this.path)
      }
    })
  }

  /** Runs `work` in one transaction: all of it is committed, or none. */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#execute('BEGIN')
      try {
        const result = await work({
          run: (sql, values) => this.#execute(sql, values),
          rows: (sql, values) => this.#read(sql, values),
        })
        await this.#execute('COMMIT')
        return result
      } catch (error) {
        // The transaction may be gone already (disk full at COMMIT); what counts is that nothing of it stays.
        await this.#connection.run('ROLLBACK').catch(() => undefined)
        throw error
      }
    })
  }

  /** Runs `work` while no other statement runs; it may run statements of its own outside a transaction. */
  async exclusive<T>(work: (run: (sql: string) => Promise<void>) => Promise<T>): Promise<T> {
    return this.#inTurn(() => work((sql) => this.#execute(sql)))
  }

  /** Stops the statement that runs now; it rejects and its transaction rolls back. */
  interrupt(): void {
    if (!this.#closed) this.#connection.interrupt()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    await this.#tail.catch(() => undefined)
    this.#closed = true
    this.#connection.closeSync()
    this.#instance.closeSync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** One connection serves one statement or transaction at a time; others wait in order. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work, work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  async #execute(sql: string, values?: readonly SqlValue[]): Promise<void> {
    try {
      await this.#connection.run(sql, values === undefined ? undefined : [...values])
    } catch (error) {
      throw databaseError(error, this.path)
    }
  }

  async #read<T>(sql: string, values?: readonly SqlValue[]): Promise<T[]> {
    try {
      const reader = await this.#connection.runAndReadAll(sql, values === undefined ? undefined : [...values])
      return reader.getRowObjectsJS().map(withSafeNumbers) as T[]
    } catch (error) {
      throw databaseError(error, this.path)
    }
  }
}

function settings(options: DatabaseOptions): Record<string, string> {
  return {
    memory_limit: options.memory,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    ...(options.readOnly === true
      ? { access_mode: 'READ_ONLY' }
      : { preserve_insertion_order: 'false', storage_compatibility_version: 'v1.4.0' }),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    ...(options.spillDirectory === undefined ? {} : { temp_directory: options.spillDirectory }),
  }
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

const textOf = (value: DuckDBValue): string => String(value)

/** DuckDB's message → our error. The texts were read off DuckDB 1.5. */
export function databaseError(thrown: unknown, path: string): SyncError {
  if (thrown instanceof SyncError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (/Could not set lock on file/.test(message)) {
    return new SyncError('WAREHOUSE_LOCKED', `${path} is open in another process. ${holder(message)}`.trim(), {
      cure: 'One process owns the warehouse: stop the other one, or query the published copy instead.',
      data: { path },
      cause: thrown,
    })
  }
  if (/No space left on device|disk.*full|failed to offload|ENOSPC/i.test(message)) {
    return new SyncError('DISK_FULL', `no space is left for ${path}`, {
      cure: 'Free some space and run it again: nothing of the unfinished load was kept, nothing committed was lost.',
      data: { path },
      cause: thrown,
    })
  }
  if (isCorrupt(message)) {
    return new SyncError('WAREHOUSE_CORRUPT', `${path} is not a DuckDB file that can be read: ${firstLine(message)}`, {
      cure: 'Restore it from a backup or from the published copy, or move it away: the next sync builds it afresh.',
      data: { path },
      cause: thrown,
    })
  }
  if (/newer version of DuckDB|version number \d+, but we can only read/.test(message)) {
    return new SyncError('WAREHOUSE_NEWER', `${path} was written by a newer DuckDB: ${firstLine(message)}`, {
      cure: 'Run the newer Tidemark that wrote it.',
      data: { path },
      cause: thrown,
    })
  }
  if (/Interrupted|INTERRUPT/.test(message)) {
    return new SyncError('CANCELLED', 'the statement was stopped on request', {
      cure: 'Start it again; it goes on where it stopped.',
    })
  }
  if (/unable to open|Cannot open file|No such file|does not exist/i.test(message) && message.includes(path)) {
    return new SyncError('WAREHOUSE_MISSING', `${path} cannot be opened: ${firstLine(message)}`, {
      cure: 'Check the path and its permissions; `tidemark sync` makes the file.',
      data: { path },
      cause: thrown,
    })
  }
  return asSyncError(thrown)
}

const firstLine = (message: string): string => message.split('\n')[0] ?? ''

const holder = (message: string): string => /Conflicting lock is held in .*?\(PID \d+\)/.exec(message)?.[0] ?? ''

function isCorrupt(message: string): boolean {
  return /not a valid DuckDB database file|file is not a|Corrupt|checksum|Serialization Error|invalid magic/i.test(
    message,
  )
}
