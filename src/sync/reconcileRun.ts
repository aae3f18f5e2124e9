/** A reconcile as a run: it is recorded in the books, is skipped while its report is paused, and never throws. */
import { oneRun, type RunRequest } from './oneRun.ts'
import { pausedReports } from './pauses.ts'
import { type ReconcileFound, type ReconcileOptions, reconcileReport } from './reconcile.ts'
import { nothingRun, type ReportOutcome } from './reportOutcome.ts'
import type { SyncContext } from './context.ts'

/** Reconciles one report. `result` is undefined if the report is paused or the run has failed. */
export async function reconcileRun(
  context: SyncContext,
  { report, ...options }: Pick<RunRequest, 'report'> & ReconcileOptions,
): Promise<{ outcome: ReportOutcome; result: ReconcileFound | undefined }> {
  const error = (await pausedReports(context)).get(report)
  if (error !== undefined) return { outcome: { ...nothingRun(report), state: 'paused', error }, result: undefined }
  const { runId } = options
  const { outcome, run } = await oneRun(context, { report, kind: 'reconcile', runId }, () =>
    reconcileReport(context, report, options),
  )
  return { outcome, result: run?.found }
}
