/** Locks a lake with PostgreSQL, so that its writers commit one at a time. */
import { repeat, systemClock } from '../../clock.ts'
import { SyncError } from '../../errors.ts'
import { text } from './sql.ts'

const LOCK = 0x6c_61_6b_65
/** PostgreSQL ends the session of a frozen process after this many seconds. */
const SILENT_S_MAX = 15
const RENEW_EVERY_MS = 5_000
/** An interrupt can't end a wait in PostgreSQL, so each wait is short. */
const WAIT_S_MAX = 5
const WAITS_MAX = 360
const WAIT = `DO 'BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); EXCEPTION WHEN lock_not_available THEN NULL; END'`

/** Ends sessions that were frozen during a commit, because they block all others. */
const END_FROZEN = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - interval '${SILENT_S_MAX} s' AND pid IN
      (SELECT pid FROM pg_locks WHERE relation = to_regclass('ducklake_snapshot') AND mode = 'RowExclusiveLock')`

type Run = (sql: string) => Promise<readonly { readonly taken?: unknown }[]>

/** Waits for the lock. `run` needs its own connection, because the lock belongs to the connection that takes it. */
export async function takeLakeLock(run: Run, lake: string): Promise<AsyncDisposable> {
  const catalogue = text(`__ducklake_metadata_${lake}`)
  const ask = (sql: string) => run(`FROM postgres_query(${catalogue}, ${text(sql)})`)
  await using taking = new AsyncDisposableStack()
  taking.defer(async () => void (await run('ROLLBACK').catch(() => undefined)))
  await run('BEGIN')
  const limits = `set_config('lock_timeout', '${WAIT_S_MAX}s', true) AS wait,
    set_config('idle_in_transaction_session_timeout', '${SILENT_S_MAX}s', true)`
  const problem = `other workers kept the lock of the lake for ${(WAITS_MAX * WAIT_S_MAX) / 60} minutes`
  const cure = 'This load stored nothing; the next run reads its rows again. Let fewer workers load into this lake.'
  for (let waits = 0; ; waits += 1) {
    const [row] = await ask(`SELECT ${limits}, pg_try_advisory_xact_lock(${LOCK}) AS taken`)
    if (row?.taken === true) break
    if (waits === WAITS_MAX) throw new SyncError('LAKE_BUSY', problem, { cure })
    await run(`CALL postgres_execute(${catalogue}, ${text(WAIT)})`)
  }
  taking.use(repeat(RENEW_EVERY_MS, systemClock, () => ask(END_FROZEN)))
  return taking.move()
}
