/** Converts active runs into the form of the API and of the live events. */
import type { RunningDocument } from '../../jobs/runs/runs.ts'
import { formatInstant } from '../instant.ts'
import type { RunningRun } from './api/schemas.ts'

export function toRunningRun({ runId, report, kind, startedAt, progress }: RunningDocument): RunningRun {
  const { pages = 0, rows = 0 } = progress ?? {}
  return {
    run_id: runId,
    report,
    kind,
    started_at: formatInstant(startedAt),
    pages,
    rows,
    rows_expected: progress !== undefined && 'rowsExpected' in progress ? (progress.rowsExpected ?? null) : null,
    windows: windowsOf(progress),
  }
}

function windowsOf(progress: RunningDocument['progress']): RunningRun['windows'] {
  if (progress === undefined || !('backfillId' in progress)) return null
  const { windows: total, windowsDone: done, windowsFailed: failed, msLeft } = progress
  return { done, failed, total, ms_left: msLeft ?? null }
}
