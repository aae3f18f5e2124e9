/** Converts active runs into the form of the API and of the live events. */
import { formatInstant } from '../instant.ts'
import type { RunningRun as ActiveRun } from '../operations/contract.ts'
import type { RunningRun } from './api/schemas.ts'

export function toRunningRun({ runId, report, kind, startedAt, progress }: ActiveRun): RunningRun {
  const { pages = 0, rows = 0 } = progress ?? {}
  return {
    run_id: runId,
    report,
    kind,
    started_at: formatInstant(startedAt),
    pages,
    rows,
    rows_expected: progress?.rowsExpected ?? null,
    windows: windowsOf(progress),
  }
}

function windowsOf(progress: ActiveRun['progress']): RunningRun['windows'] {
  if (progress?.windows === undefined) return null
  const { done, failed, total, msLeft = null } = progress.windows
  return { done, failed, total, ms_left: msLeft }
}
