/** BullMQ's PostgreSQL backend with one pool for all queues. */
import type { BackendFactory, PgPool, RedisQueueBackend, PgQueryable } from 'bullmq'
import { PostgresConnection, PostgresQueueBackend, runMigrations } from 'bullmq'
import type { StoredValue, SharedValues } from './sharedTokens.ts'

/** The key of the lock for creating tables: the letters `tide` in ASCII. */
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
  // The types of the two backends differ, but both have every method that Tidemark calls.
  return backend as unknown as BackendFactory<RedisQueueBackend>
}

export const sessionName = (queue: string, worker: string): string => `${queue}:w:${worker}`

export async function prepareTables(pool: PgPool, schema: string): Promise<void> {
  const session = await pool.connect()
  try {
    await runMigrations(session, schema)
    await session.query('BEGIN')
    // Takes a lock, because CREATE TABLE IF NOT EXISTS fails if two sessions run it at once.
    await session.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [TABLES_LOCK, schema])
    await session.query(VALUES_TABLE)
    await session.query('COMMIT')
  } catch (error) {
    await session.query('ROLLBACK').catch(() => undefined)
    throw error
  } finally {
    session.release()
  }
}

const TABLE = 'tidemark_shelf'
/** Returns SQL for the current time plus milliseconds. `now()` would be the start of the transaction. */
const fromNow = (parameter: string) => `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`

const VALUES_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  name text PRIMARY KEY,
  text text NOT NULL,
  until timestamptz NOT NULL
)`

const READ = `SELECT text, extract(epoch FROM until - clock_timestamp())::float8 * 1000 AS "remainingMs"
FROM ${TABLE} WHERE name = $1 AND until > clock_timestamp()`

const WRITE = `INSERT INTO ${TABLE} (name, text, until) VALUES ($1, $2, ${fromNow('$3')})
ON CONFLICT (name) DO UPDATE SET text = excluded.text, until = excluded.until`

const CLAIM = `${WRITE} WHERE ${TABLE}.until <= clock_timestamp() RETURNING name`

const RENEW = `UPDATE ${TABLE} SET until = ${fromNow('$3')}
WHERE name = $1 AND text = $2 AND until > clock_timestamp() RETURNING name`

const REMOVE = `DELETE FROM ${TABLE} WHERE name = $1 AND text = $2`

const PROLONG = `INSERT INTO ${TABLE} (name, text, until) VALUES ($1, '', ${fromNow('$2')})
ON CONFLICT (name) DO UPDATE SET until = greatest(${TABLE}.until, excluded.until)`

export function sqlValues(database: PgQueryable): SharedValues {
  const rowsOf = async (sql: string, ...values: unknown[]) => (await database.query<StoredValue>(sql, values)).rows
  return {
    read: async (name) => (await rowsOf(READ, name))[0],
    write: async (...value) => void (await rowsOf(WRITE, ...value)),
    claim: async (...value) => (await rowsOf(CLAIM, ...value)).length > 0,
    renew: async (...value) => (await rowsOf(RENEW, ...value)).length > 0,
    remove: async (...value) => void (await rowsOf(REMOVE, ...value)),
    prolong: async (...value) => void (await rowsOf(PROLONG, ...value)),
  }
}
