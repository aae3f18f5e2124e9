/**
 * Orders the commits of a lake whose catalogue is in PostgreSQL. Each transaction takes the same lock in shared mode. A
 * transaction that has lost several times takes it exclusively, so that smaller transactions cannot commit first again.
 */
import { repeat, systemClock } from '../../clock.ts'
import { text } from './sql.ts'

/** The number of the lock in PostgreSQL: the letters `lake` in ASCII. */
const LOCK = 0x6c_61_6b_65
const LOST_MAX = 3
/** If a process is frozen or unreachable for this long, PostgreSQL ends the process's turn to commit. */
const SILENT_S_MAX = 15
const RENEW_EVERY_MS = 5_000

/** Ends sessions that a frozen process left in the middle of a commit, because every other commit waits for them. */
const END_FROZEN = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - interval '${SILENT_S_MAX} s' AND pid IN
      (SELECT pid FROM pg_locks WHERE relation = to_regclass('ducklake_snapshot') AND mode = 'RowExclusiveLock')`

/** Waits for a turn. `run` uses a second connection, whose transaction keeps the lock until the turn is disposed. */
export async function takeTurn(
  run: (sql: string) => Promise<unknown>,
  lake: string,
  lost: number,
): Promise<AsyncDisposable> {
  const ask = (sql: string) => run(`FROM postgres_query(${text(`__ducklake_metadata_${lake}`)}, ${text(sql)})`)
  const lock = lost < LOST_MAX ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock'
  await using taking = new AsyncDisposableStack()
  taking.defer(async () => void (await run('ROLLBACK').catch(() => undefined)))
  await run('BEGIN')
  const limit = `set_config('idle_in_transaction_session_timeout', '${SILENT_S_MAX}s', true)`
  await ask(`SELECT ${lock}(${LOCK})::text, ${limit}`)
  taking.use(repeat(RENEW_EVERY_MS, systemClock, () => ask(END_FROZEN)))
  return taking.move()
}
