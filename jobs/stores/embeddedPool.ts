/**
 * PGlite in the shape of a pool of PostgreSQL sessions, as much of it as BullMQ uses. PGlite is one session in this
 * very thread, so two things have to be made: turns, because a transaction of one caller must not be entered by
 * another, and air, because PGlite answers without ever letting a timer fire, and a worker that asks in a loop would
 * never end.
 */
import { EventEmitter } from 'node:events'
import { access, chmod, constants, mkdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PGlite, type Results, types } from '@electric-sql/pglite'
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq'
import type { Clock } from '../../src/clock.ts'
import { ownFileRefused } from '../../src/folders.ts'
import { MINUTE_MS } from '../../src/instant.ts'

/**
 * PGlite has neither autovacuum nor checkpointer. Without the one, tables of jobs that come and go grow and slow down;
 * without the other, every write since the start stays in its log, which a start after a kill reads again from its begin.
 */
const CLEAR_EVERY_MS = 30 * MINUTE_MS
/** How much of the log is kept for writing over it, in PostgreSQL's own terms. */
const LOG_SIZES = ['-c', 'min_wal_size=32MB', '-c', 'max_wal_size=64MB']

type Row = Record<string, unknown>

export interface EmbeddedSettings {
  readonly directory: string
  readonly schema: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** PGlite lets everybody write its files, whatever the umask says: only the folder can keep others from them. */
async function closeToOthers(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  // A file system without rights has nothing to refuse with either.
  await chmod(directory, 0o700).catch(() => undefined)
  // PGlite would say of that no more than "[object Object]".
  await access(directory, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw ownFileRefused(directory, error)
  })
}

export class EmbeddedPool extends EventEmitter implements PgPool {
  /** Nothing here can drop silently, so BullMQ may wait as long as it likes. */
  readonly options = { keepAlive: true }
  readonly #database: PGlite
  readonly #sessions = new Set<Session>()
  /** Who has begun a transaction, and who waits for its end. */
  #speaker: Session | undefined
  readonly #waiting: (() => void)[] = []
  #ended = false

  private constructor(database: PGlite) {
    super()
    this.#database = database
    this.setMaxListeners(0)
    database.onNotification((channel, payload) => {
      for (const session of this.#sessions) session.emit('notification', { channel, payload })
    })
  }

  /** Error: WAREHOUSE_MISSING where the folder is another user's. */
  static async open({ directory, schema, clock, onError }: EmbeddedSettings): Promise<EmbeddedPool> {
    await closeToOthers(directory)
    const database = await PGlite.create(directory, {
      // As pg does it: a 64-bit number does not fit a double.
      parsers: { [types.INT8]: (text: string) => text },
      // A quarter of the memory that it takes else, and no slower with so few rows.
      startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB', ...LOG_SIZES],
    })
    await database.exec(`CREATE SCHEMA IF NOT EXISTS ${schema}; SET search_path TO ${schema}`)
    const pool = new EmbeddedPool(database)
    pool.#clearAfter(CLEAR_EVERY_MS, { clock, onError })
    return pool
  }

  async connect(): Promise<PgPoolClient> {
    const session = new Session(this)
    this.#sessions.add(session)
    return session
  }

  query<Result = Row>(text: string, values?: readonly unknown[]): Promise<PgQueryResult<Result>> {
    return this.run<Result>(text, values)
  }

  async end(): Promise<void> {
    this.#ended = true
    await this.#database.close()
  }

  /** One statement, when it is this caller's turn. */
  async run<Result>(text: string, values: readonly unknown[] = [], session?: Session): Promise<PgQueryResult<Result>> {
    await nextTurn()
    while (this.#speaker !== undefined && this.#speaker !== session) {
      await new Promise<void>((resume) => this.#waiting.push(resume))
    }
    if (session !== undefined && begins(text)) this.#speaker = session
    try {
      return resultOf(await this.#answer<Result>(text, values))
    } finally {
      if (session !== undefined && ends(text)) this.#silence(session)
    }
  }

  async leave(session: Session): Promise<void> {
    this.#sessions.delete(session)
    if (this.#speaker === session) await this.run('ROLLBACK', [], session)
  }

  /** Several statements at once go without values, as in pg. */
  async #answer<Result>(text: string, values: readonly unknown[]): Promise<Results<Result> | undefined> {
    if (values.length > 0) return await this.#database.query<Result>(text, [...values])
    return (await this.#database.exec(text)).at(-1) as Results<Result> | undefined
  }

  #silence(session: Session): void {
    if (this.#speaker !== session) return
    this.#speaker = undefined
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #clearAfter(ms: number, parts: Pick<EmbeddedSettings, 'clock' | 'onError'>): void {
    parts.clock.after(ms, () => {
      if (this.#ended) return
      this.#clear().catch(parts.onError)
      this.#clearAfter(ms, parts)
    })
  }

  async #clear(): Promise<void> {
    await this.query('VACUUM')
    if (!this.#ended) await this.query('CHECKPOINT')
  }
}

class Session extends EventEmitter implements PgPoolClient {
  readonly #pool: EmbeddedPool

  constructor(pool: EmbeddedPool) {
    super()
    this.#pool = pool
    this.setMaxListeners(0)
  }

  query<Result = Row>(text: string, values?: readonly unknown[]): Promise<PgQueryResult<Result>> {
    return this.#pool.run<Result>(text, values, this)
  }

  /** A session that leaves in the middle of a transaction takes it back, or nobody would ever have a turn again. */
  release(): void {
    this.removeAllListeners()
    this.#pool.leave(this).catch((error: unknown) => this.#pool.emit('error', error))
  }
}

const begins = (text: string): boolean => /^\s*BEGIN\b/i.test(text)
const ends = (text: string): boolean => /^\s*(?:COMMIT|ROLLBACK)\b/i.test(text)

const resultOf = <Result>(result: Results<Result> | undefined): PgQueryResult<Result> => ({
  rows: result?.rows ?? [],
  rowCount: result?.rowCount ?? result?.affectedRows ?? result?.rows.length ?? 0,
})
