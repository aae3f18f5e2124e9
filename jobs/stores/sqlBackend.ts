/** BullMQ's PostgreSQL backend with one shared pool. BullMQ's own pool per queue would exhaust the connections. */
import {
  type BackendFactory,
  type PgPool,
  type PgPoolClient,
  PostgresConnection,
  PostgresQueueBackend,
  type RedisQueueBackend,
  runMigrations,
} from 'bullmq'
import { VALUES_TABLE } from './sqlValues.ts'

/** Key of the advisory lock: the letters "tide" as a number. */
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

/** Returns the name of a worker's session in pg_stat_activity. */
export const sessionName = (queue: string, worker: string): string => `${queue}:w:${worker}`

/** Creates or updates all tables. Several processes may call it at the same time. */
export async function prepareTables(session: PgPoolClient, schema: string): Promise<void> {
  await runMigrations(session, schema)
  await session.query('BEGIN')
  try {
    // Takes a lock first, because CREATE TABLE IF NOT EXISTS fails when two sessions run it at the same time.
    await session.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [TABLES_LOCK, schema])
    await session.query(VALUES_TABLE)
    await session.query('COMMIT')
  } catch (error) {
    await session.query('ROLLBACK')
    throw error
  }
}
