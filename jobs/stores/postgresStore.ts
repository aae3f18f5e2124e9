/** The queue store on a PostgreSQL server. */
import { Pool } from 'pg'
import type { PgPool } from 'bullmq'
import { type ServerAddress, withoutSecrets } from './address.ts'
import { prepareTables, sessionName, sqlBackend, sqlValues } from './sqlBackend.ts'
import { composeStore, type Opening, type QueueStore, refuseUnfit, type StoreFinding, versionFinding } from './store.ts'
import { messageOf, ProblemLog, unfitError, unreachableError } from './problemLog.ts'

/** Maximum number of sessions per process. Workers and listeners use about ten of them all the time. */
const SESSIONS_MAX = 24
const CONNECT_MS = 10_000
/** Without keep-alive packets, a lost server would go unnoticed for hours. */
const KEEP_ALIVE_MS = 10_000

const FACTS = `SELECT current_setting('server_version') AS version,  pg_is_in_recovery() AS is_replica, current_setting('default_transaction_read_only') AS read_only,
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit`

const WORKERS = `SELECT count(DISTINCT pid)::int AS workers FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1`

/** Opens the store. Throws QUEUE_UNREACHABLE or QUEUE_UNFIT. */
export async function openPostgresStore(address: ServerAddress, opening: Opening): Promise<QueueStore> {
  const { prefix: schema } = opening
  const problems = new ProblemLog(opening, (text) => withoutSecrets(text, address))
  const pool = poolFor(address, schema)
  pool.on('error', problems.log)
  const shared = pool as unknown as PgPool
  try {
    const findings = await findingsOf(pool).catch((error: unknown) => Promise.reject(unreachableError(address, error)))
    refuseUnfit(address.shown, findings)
    await prepareTables(shared, schema).catch((error: unknown) => {
      const cure = 'GRANT CREATE ON DATABASE to this user, or let its owner create the schema.'
      throw unfitError(address.shown, `its tables cannot be created: ${problems.mask(messageOf(error))}`, cure)
    })
  } catch (error) {
    await pool.end()
    throw error
  }
  return composeStore(opening, {
    kind: 'postgres',
    shown: address.shown,
    backend: sqlBackend(shared, schema),
    workerOptions: { name: schema },
    problems,
    values: sqlValues(shared),
    check: () => findingsOf(pool),
    workersOf: async ({ name }) => {
      const { rows } = await pool.query<{ workers: number }>(WORKERS, [sessionName(name, schema)])
      return rows[0]?.workers ?? 0
    },
    release: () => pool.end(),
  })
}

function poolFor({ url }: ServerAddress, schema: string): Pool {
  // Adds `search_path` to the URL, because an `options` parameter in the URL would override the pool's own setting.
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
  // Each queue and each worker adds a listener. Without this call, Node would warn about a leak.
  return pool.setMaxListeners(0)
}

const findingsOf = async (pool: Pool): Promise<readonly StoreFinding[]> =>
  (await pool.query<PostgresFacts>(FACTS)).rows.flatMap(postgresFindings)

interface PostgresFacts {
  readonly version: string
  readonly is_replica: boolean
  readonly read_only: string
  readonly fsync: string
  readonly synchronous_commit: string
}

export function postgresFindings(facts: PostgresFacts): readonly StoreFinding[] {
  const { version } = facts
  const known = { product: 'PostgreSQL', min: 13, advised: 14 }
  return [versionFinding(`PostgreSQL ${version}`, version, known), writes(facts), durability(facts)]
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
