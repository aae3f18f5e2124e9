/** The queue store on a PostgreSQL server. A process has one pool of connections. The tables have their own schema. */
import { Pool, type PoolClient } from 'pg'
import type { PgPool, PgPoolClient } from 'bullmq'
import { SyncError } from '../../src/errors.ts'
import { type ServerAddress, withoutSecrets } from './address.ts'
import { composeStore } from './queues.ts'
import { prepareTables, sessionName, sqlBackend, SqlValues } from './sqlBackend.ts'
import type { Opening, QueueStore, StoreFinding } from './store.ts'
import { messageOf, ProblemLog, unfitError, unreachableError, temporaryError } from './problemLog.ts'

/** Workers and listeners use about ten sessions all the time. The other sessions are for short queries. */
const SESSIONS_MAX = 24
const CONNECT_MS = 10_000
/** Without keep-alive packets, a lost server would be noticed only after hours. */
const KEEP_ALIVE_MS = 10_000

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  pg_is_in_recovery() AS is_replica, current_setting('default_transaction_read_only') AS read_only,
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit`

const WORKERS = `SELECT count(DISTINCT pid)::int AS workers FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1`

/** Throws QUEUE_UNREACHABLE or QUEUE_UNFIT. */
export async function openPostgresStore(address: ServerAddress, opening: Opening): Promise<QueueStore> {
  const { prefix: schema } = opening
  const problems = new ProblemLog(opening, (text) => withoutSecrets(text, address))
  const pool = poolFor(address, schema)
  pool.on('error', problems.log)
  try {
    await prepare(pool, address, schema)
  } catch (error) {
    await pool.end()
    throw error
  }
  const shared = pool as unknown as PgPool
  return composeStore(opening, {
    kind: 'postgres',
    shown: address.shown,
    backend: sqlBackend(shared, schema),
    workerName: schema,
    problems,
    values: new SqlValues(shared),
    check: () => findingsOf(pool),
    workersOf: async (name) => {
      const counting = pool.query<{ workers: number }>(WORKERS, [sessionName(name, schema)])
      const { rows } = await counting.catch((error: unknown) => {
        throw temporaryError(address.shown, problems.mask(messageOf(error)))
      })
      return rows[0]?.workers ?? 0
    },
    release: () => pool.end(),
  })
}

function poolFor({ url }: ServerAddress, schema: string): Pool {
  // Adds the search path to the URL, because an `options` parameter in the URL overrides the setting of the pool.
  const address = new URL(url)
  const given = address.searchParams.get('options')
  address.searchParams.set('options', `${given === null ? '' : `${given} `}-c search_path=${schema}`)
  const pool = new Pool({
    connectionString: address.href,
    max: SESSIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'tidemark',
  })
  // Each queue and each worker adds a listener. Without this call, Node would warn about more than ten listeners.
  return pool.setMaxListeners(0)
}

async function prepare(pool: Pool, address: ServerAddress, schema: string): Promise<void> {
  const session = await pool.connect().catch((error: unknown) => {
    throw unreachableError(address, error)
  })
  try {
    const failed = (await findingsOf(session)).find(({ state }) => state === 'failed')
    if (failed !== undefined) throw unfitError(address.shown, failed.what, failed.cure ?? '')
    await prepareTables(session as unknown as PgPoolClient, schema)
  } catch (error) {
    if (error instanceof SyncError) throw error
    const what = `its tables cannot be created: ${withoutSecrets(error instanceof Error ? error.message : '', address)}`
    throw unfitError(address.shown, what, 'GRANT CREATE ON DATABASE to this user, or let its owner create the schema.')
  } finally {
    session.release()
  }
}

async function findingsOf(database: Pick<Pool, 'query'> | Pick<PoolClient, 'query'>): Promise<readonly StoreFinding[]> {
  const { rows } = await database.query<PostgresFacts>(FACTS)
  return rows.flatMap(postgresFindings)
}

interface PostgresFacts {
  readonly version: string
  readonly number: number
  readonly is_replica: boolean
  readonly read_only: string
  readonly fsync: string
  readonly synchronous_commit: string
}

const VERSION_MIN = 13
const VERSION_ADVISED = 14

export function postgresFindings(facts: PostgresFacts): readonly StoreFinding[] {
  return [version(facts), writes(facts), durability(facts)]
}

function version({ version, number }: PostgresFacts): StoreFinding {
  const what = `PostgreSQL ${version}`
  const cure = `Use PostgreSQL ${VERSION_ADVISED} or newer.`
  const major = Math.floor(number / 10_000)
  if (major < VERSION_MIN) return { state: 'failed', what: `${what} is too old`, cure }
  return major < VERSION_ADVISED ? { state: 'warned', what: `${what} is old`, cure } : { state: 'passed', what }
}

function writes({ is_replica: isReplica, read_only: readOnly }: PostgresFacts): StoreFinding {
  if (isReplica) return { state: 'failed', what: 'it is a read-only replica', cure: 'Use the address of the primary.' }
  if (readOnly === 'on') {
    const cure = 'ALTER DATABASE … SET default_transaction_read_only = off, or use another database.'
    return { state: 'failed', what: 'this database is read-only', cure }
  }
  return { state: 'passed', what: 'takes writes' }
}

function durability({ fsync, synchronous_commit: synchronousCommit }: PostgresFacts): StoreFinding {
  if (fsync === 'on' && synchronousCommit !== 'off') return { state: 'passed', what: 'keeps its data over a crash' }
  const cure = 'Set fsync = on and synchronous_commit = on in postgresql.conf.'
  return { state: 'warned', what: 'may lose the last jobs in a crash (fsync or synchronous_commit is off)', cure }
}
