/** Records runs and their states. */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import type { RunCounts } from '../../plan/runCounts.ts'
import { countOf, orNull, type Sql, text, time } from '../database/sql.ts'

export type RunKind = 'incremental' | 'backfill' | 'reconcile'
/** A run that was interrupted or whose process died is `stopped`. */
export type RunState = 'running' | 'done' | 'failed' | 'stopped'

export interface RunRecord extends RunCounts {
  readonly runId: string
  readonly report: ReportName
  readonly kind: RunKind
  readonly state: RunState
  readonly startedAt: Instant
  readonly endedAt: Instant | undefined
  readonly error?: { readonly code: string; readonly message: string; readonly cure: string }
}

export async function recordRun(sql: Sql, ...runs: readonly RunRecord[]): Promise<void> {
  if (runs.length === 0) return
  const rows = runs.map((run) => {
    const identity = [run.runId, run.report, run.kind, run.state].map(text).join()
    const counts = [run.pages, run.rows, run.inserted, run.updated, run.deleted, run.rejected].join()
    const error = [run.error?.code, run.error?.message, run.error?.cure].map((field) => orNull(field, text)).join()
    return `(${identity}, ${time(run.startedAt)}, ${orNull(run.endedAt, time)}, ${counts}, ${error}, ${run.misfits})`
  })
  await sql.run(`DELETE FROM tidemark.runs WHERE run_id IN (${runs.map(({ runId }) => text(runId)).join()})`)
  await sql.run(`INSERT INTO tidemark.runs VALUES ${rows.join()}`)
}

export const isTakenOver = async (sql: Sql, { runId, startedAt }: RunRecord): Promise<boolean> =>
  (await countOf(sql, `tidemark.runs WHERE run_id = ${text(runId)} AND started_at > ${time(startedAt)}`)) > 0

/** Marks runs of dead processes as stopped. With `newer`, only runs of the same report and kind by other processes. */
export async function stopDeadRuns(sql: Sql, newer?: { report: string; kind: RunKind; holder: string }): Promise<void> {
  const older =
    newer && `AND report = ${text(newer.report)} AND kind = ${text(newer.kind)} AND run_id <> ${text(newer.holder)}`
  await sql.run(`
    UPDATE tidemark.runs SET state = 'stopped', ended_at = greatest(started_at, now()), error_code = 'CANCELLED',
      error = 'the process of the run ended before the run', cure = 'Start it again; it goes on where it stopped.'
    WHERE state = 'running' ${older ?? ''}`)
}
