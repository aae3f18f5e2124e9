/** BullMQ's PostgreSQL backend with one shared pool. A pool for each queue would open too many connections. */
import {
  type BackendFactory,
  type PgPool,
  type PgPoolClient,
  PostgresConnection,
  PostgresQueueBackend,
  type RedisQueueBackend,
  runMigrations,
  type PgQueryable,
} from 'bullmq'
import type { StoredValue, SharedValues } from './sharedValues.ts'

/** The letters `tide` in ASCII. */
const TABLES_LOCK = 0x74_69_64_65

class SharedPool extends PostgresConnection {
  override readonly schema: string

  constructor(pool: PgPool, schema: string) {
    super(pool)
    this.schema = schema
  }
}

export function sqlBackend(pool: PgPool, schema: string): BackendFactory<RedisQueueBackend> {
  const backend = ((name, options, { withBlockingConnection = false, blocking = false } = {}) => {
    const worker = 'name' in options && typeof options.name === 'string' ? options.name : schema
    const session = withBlockingConnection ? sessionName(name, worker) : blocking ? `${name}:qe` : undefined
    return new PostgresQueueBackend(new SharedPool(pool, schema), name, { ...options, connection: pool }, true, session)
  }) satisfies BackendFactory<PostgresQueueBackend>
  // BullMQ's types assume a Redis backend. The calls that Tidemark uses exist on both backends.
  return backend as unknown as BackendFactory<RedisQueueBackend>
}

export const sessionName = (queue: string, worker: string): string => `${queue}:w:${worker}`

export async function prepareTables(session: PgPoolClient, schema: string): Promise<void> {
  await runMigrations(session, schema)
  await session.query('BEGIN')
  try {
    // CREATE TABLE IF NOT EXISTS fails if two sessions run it at once, so a lock is taken first.
    await session.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [TABLES_LOCK, schema])
    await session.query(VALUES_TABLE)
    await session.query('COMMIT')
  } catch (error) {
    await session.query('ROLLBACK')
    throw error
  }
}

const TABLE = 'tidemark_shelf'
/** In PostgreSQL, `now()` is the start of the transaction, but `clock_timestamp()` is the present time. */
const fromNow = (parameter: string) => `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`

const VALUES_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  name text PRIMARY KEY,
  text text NOT NULL,
  until timestamptz NOT NULL
)`

const READ = `SELECT text, extract(epoch FROM until - clock_timestamp())::float8 * 1000 AS remaining_ms
FROM ${TABLE} WHERE name = $1 AND until > clock_timestamp()`

const WRITE = `INSERT INTO ${TABLE} (name, text, until) VALUES ($1, $2, ${fromNow('$3')})
ON CONFLICT (name) DO UPDATE SET text = excluded.text, until = excluded.until`

const CLAIM = `${WRITE} WHERE ${TABLE}.until <= clock_timestamp() RETURNING name`

const RENEW = `UPDATE ${TABLE} SET until = ${fromNow('$3')}
WHERE name = $1 AND text = $2 AND until > clock_timestamp() RETURNING name`

const REMOVE = `DELETE FROM ${TABLE} WHERE name = $1 AND text = $2`

const PROLONG = `INSERT INTO ${TABLE} (name, text, until) VALUES ($1, '', ${fromNow('$2')})
ON CONFLICT (name) DO UPDATE SET until = greatest(${TABLE}.until, excluded.until)`

export class SqlValues implements SharedValues {
  readonly #database: PgQueryable

  constructor(database: PgQueryable) {
    this.#database = database
  }

  async read(name: string): Promise<StoredValue | undefined> {
    const { rows } = await this.#database.query<{ text: string; remaining_ms: number }>(READ, [name])
    const [row] = rows
    return row === undefined ? undefined : { text: row.text, remainingMs: row.remaining_ms }
  }

  async write(name: string, text: string, ms: number): Promise<void> {
    await this.#database.query(WRITE, [name, text, ms])
  }

  async claim(name: string, text: string, ms: number): Promise<boolean> {
    return (await this.#database.query(CLAIM, [name, text, ms])).rows.length > 0
  }

  async renew(name: string, text: string, ms: number): Promise<boolean> {
    return (await this.#database.query(RENEW, [name, text, ms])).rows.length > 0
  }

  async remove(name: string, text: string): Promise<void> {
    await this.#database.query(REMOVE, [name, text])
  }

  async prolong(name: string, ms: number): Promise<void> {
    await this.#database.query(PROLONG, [name, ms])
  }
}
