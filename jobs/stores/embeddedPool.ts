/** Lets BullMQ use several sessions on PGlite, which has only one. */
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { access, constants, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { parse, PGlite, protocol, type Results, types } from '@electric-sql/pglite'
import { dataDir } from '@electric-sql/pglite-prepopulatedfs'
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq'
import { type Clock, repeat } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { makePrivateFolder, ownFileRefused } from '../../src/folders.ts'
import { MINUTE_MS } from '../../src/instant.ts'

/** How often VACUUM runs. PGlite does not start it by itself, so its files would keep growing. */
const MAINTENANCE_EVERY_MS = 30 * MINUTE_MS
/** Limits memory and disk space. The default of `shared_buffers` would need four times as much memory. */
const SIZES = ['shared_buffers=16MB', 'min_wal_size=32MB', 'max_wal_size=64MB']
const START_PARAMETERS = [...PGlite.defaultStartParams, ...SIZES.flatMap((size) => ['-c', size])]

/** Saves 500 MB that V8's optimizing compiler would use. These flags must be set before V8 compiles PGlite. */
const BASELINE_COMPILER_ONLY = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

export const PREPARED_STATEMENTS_MAX = 500

/** Replaces the function that stores BullMQ's events. No part of Tidemark reads them. */
export const NO_EVENTS = `CREATE OR REPLACE FUNCTION publish_event(p_queue text, p_event text, p_data jsonb) RETURNS bigint
  LANGUAGE sql IMMUTABLE AS 'SELECT 0::bigint'`

type Row = Record<string, unknown>
type Answers = Awaited<ReturnType<PGlite['execProtocolStream']>>

export interface EmbeddedSettings {
  readonly directory: string
  readonly schema: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** Closes the folder to other users, because PGlite creates files that every user can read. */
async function closeToOthers(directory: string): Promise<void> {
  makePrivateFolder(directory)
  // PGlite reports missing permissions only as "[object Object]".
  await access(directory, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw ownFileRefused(directory, error)
  })
}

/** Copies a ready-made database, because `initdb` needs 350 MB of memory. */
async function createDatabase(directory: string): Promise<void> {
  const partial = `${directory}.new`
  await rm(partial, { recursive: true, force: true })
  await closeToOthers(partial)
  await (await PGlite.create(partial, { loadDataDir: await dataDir(), startParams: START_PARAMETERS })).close()
  await rename(partial, directory)
}

export class EmbeddedPool extends EventEmitter implements PgPool {
  /** Without `keepAlive`, BullMQ would not rely on this pool's notifications and would poll every 10 s. */
  readonly options = { keepAlive: true }
  readonly #database: PGlite
  readonly #sessions = new Set<Session>()
  #transactionOwner: Session | undefined
  readonly #waiting: (() => void)[] = []
  readonly #prepared = new Map<string, { readonly name: string; readonly described: Answers }>()
  #maintaining: Disposable | undefined
  #ended = false

  private constructor(database: PGlite) {
    super()
    this.#database = database
    this.setMaxListeners(0)
    database.onNotification((channel, payload) => {
      for (const session of this.#sessions) session.emit('notification', { channel, payload })
    })
  }

  /** Throws WAREHOUSE_MISSING if the folder belongs to another user. */
  static async open({ directory, schema, clock, onError }: EmbeddedSettings): Promise<EmbeddedPool> {
    await closeToOthers(directory)
    for (const flag of BASELINE_COMPILER_ONLY) setFlagsFromString(flag)
    if (!existsSync(join(directory, 'PG_VERSION'))) await createDatabase(directory)
    const database = await PGlite.create(directory, {
      // A JavaScript number cannot represent all 64-bit integers.
      parsers: { [types.INT8]: (text: string) => text },
      startParams: START_PARAMETERS,
    })
    const pool = new EmbeddedPool(database)
    const prepare = database.exec(`CREATE SCHEMA IF NOT EXISTS ${schema}; SET search_path TO ${schema}`)
    await prepare.catch(async (error: unknown) => {
      await pool.end()
      throw error
    })
    pool.#maintaining = repeat(MAINTENANCE_EVERY_MS, clock, () => pool.#maintain().catch(onError))
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
    this.#maintaining?.[Symbol.dispose]()
    await this.#database.close()
  }

  async run<Result>(text: string, values: readonly unknown[] = [], session?: Session): Promise<PgQueryResult<Result>> {
    // Lets other code run first. Otherwise a worker that polls in a loop could not be stopped.
    await nextTurn()
    while (this.#transactionOwner !== undefined && this.#transactionOwner !== session) {
      await new Promise<void>((resume) => this.#waiting.push(resume))
    }
    if (session !== undefined && begins(text)) this.#transactionOwner = session
    try {
      return resultOf(await this.#execute<Result>(text, values))
    } finally {
      if (session !== undefined && ends(text)) this.#endTransaction(session)
    }
  }

  async leave(session: Session): Promise<void> {
    this.#sessions.delete(session)
    if (this.#transactionOwner === session) await this.run('ROLLBACK', [], session)
  }

  async #execute<Result>(text: string, values: readonly unknown[]): Promise<Results<Result> | undefined> {
    if (this.#ended) throw new SyncError('CANCELLED', 'the embedded queue is closed', { cure: 'Start Tidemark again.' })
    if (values.length > 0) return await this.#database.runExclusive(() => this.#executePrepared<Result>(text, values))
    return (await this.#database.exec(text)).at(-1) as Results<Result> | undefined
  }

  /** Executes a prepared statement. PGlite's own `query` would parse the same text again each time. */
  async #executePrepared<Result>(text: string, values: readonly unknown[]): Promise<Results<Result> | undefined> {
    const { parsers, serializers } = this.#database
    const { parse: prepare, describe, bind, execute, sync } = protocol.serialize
    const call = (...messages: Uint8Array[]) =>
      this.#database.execProtocolStream(Buffer.concat([...messages, sync()]), { syncToFs: false })
    let known = this.#prepared.get(text)
    if (known === undefined) {
      const isKept = this.#prepared.size < PREPARED_STATEMENTS_MAX
      const name = isKept ? `statement_${this.#prepared.size}` : ''
      known = { name, described: await call(prepare({ name, text }), describe({ type: 'S', name })) }
      if (isKept) this.#prepared.set(text, known)
    }
    const oids = parse.parseDescribeStatementResults(known.described)
    const write = (value: unknown, place: number) => (serializers[oids[place] ?? 0] ?? String)(value)
    const texts = values.map((value, place) => (value === null || value === undefined ? null : write(value, place)))
    const answers = await call(bind({ statement: known.name, values: texts }), execute({}))
    return parse.parseResults([...known.described, ...answers], parsers)[0] as Results<Result> | undefined
  }

  #endTransaction(session: Session): void {
    if (this.#transactionOwner !== session) return
    this.#transactionOwner = undefined
    for (const resume of this.#waiting.splice(0)) resume()
  }

  async #maintain(): Promise<void> {
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

  /** Rolls back the session's open transaction. Otherwise all other sessions would wait forever for it to end. */
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
