/** A reconcile as a run: the books have a record of it, and it is skipped while its report is paused. */
import { oneRun, type RunRequest } from './oneRun.ts'
import { pausedReports } from './pauses.ts'
import { type ReconcileFound, type ReconcileOptions, reconcileReport } from './reconcile.ts'
import { nothingRun, type ReportOutcome } from './reportOutcome.ts'
import type { SyncContext } from './context.ts'

/** Reconciles one report. Never throws: the outcome has the error. `result` is undefined if nothing was reconciled. */
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
