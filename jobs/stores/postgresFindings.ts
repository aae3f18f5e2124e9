/** Decides from the settings of a PostgreSQL server whether it is fit to store jobs. Pure. */
import type { StoreFinding } from './store.ts'

export interface PostgresFacts {
  readonly version: string
  /** The version as a number. Example: 150018. */
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
  if (isReplica) return { state: 'failed', what: 'it is a read-only replica', cure: 'Give the address of the primary.' }
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
