/**
 * BullMQ's PostgreSQL backend over one pool and in a schema of our own, and the tables in it. BullMQ itself takes a
 * schema only together with a pool of its own for each queue and each worker, which would use up a server's
 * connections.
 */
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

/** Any number that nobody else locks: "tide". */
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
  // BullMQ's types give queues a Redis backend by default; what we call is the same on both.
  return backend as unknown as BackendFactory<RedisQueueBackend>
}

/** How a worker's session shows in pg_stat_activity. */
export const sessionName = (queue: string, worker: string): string => `${queue}:w:${worker}`

/** Makes or updates all tables; several processes may do so at once. */
export async function prepareTables(session: PgPoolClient, schema: string): Promise<void> {
  await runMigrations(session, schema)
  await session.query('BEGIN')
  try {
    // CREATE TABLE IF NOT EXISTS fails when two do it in the same moment.
    await session.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [TABLES_LOCK, schema])
    await session.query(VALUES_TABLE)
    await session.query('COMMIT')
  } catch (error) {
    await session.query('ROLLBACK')
    throw error
  }
}
