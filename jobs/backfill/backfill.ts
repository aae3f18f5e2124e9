/** Runs a backfill. The books list its windows (`tidemark.backfill_windows`), so a stopped backfill can continue. */
import type { SyncError } from '../../src/errors.ts'
import type { Instant } from '../../src/instant.ts'
import { type BackfillOptions, type BackfillOutcome, backfillReport } from '../../src/sync/backfill/backfill.ts'
import { wasCancelled, windowsFailed } from '../../src/sync/backfill/backfillEnd.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { observeRun, runToEnd } from '../../src/sync/oneRun.ts'
import { pausedReports } from '../../src/sync/pauses.ts'
import { noFigures, nothingRun, type ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { BackfillJob } from '../queue/queues.ts'

/**
 * Runs a backfill and reports its progress to the observers. Never throws: an error is in the outcome. If windows fail,
 * all others are still read, and the next backfill of the same range reads only the failed ones.
 */
export async function backfillRun(
  context: SyncContext,
  { backfillId, report, from, to }: BackfillJob,
  { lanes, pull }: Pick<BackfillOptions, 'lanes' | 'pull'>,
): Promise<{ outcome: ReportOutcome; result: BackfillOutcome | undefined }> {
  const paused = (await pausedReports(context)).get(report)
  if (paused !== undefined)
    return { outcome: { ...nothingRun(report), state: 'paused', error: paused }, result: undefined }
  const options = { backfillId, report, from: from as Instant, to: to as Instant, lanes, pull }
  const run = { report, kind: 'backfill', runId: backfillId } as const
  return observeRun(context, run, async () => {
    const { outcome, run: done } = await runToEnd(context, run, async () =>
      asRun(await backfillReport(context, { ...options, onProgress: context.onProgress })),
    )
    const result = done?.ended
    const error = result && missingOf(result)
    return { outcome: error === undefined ? outcome : { ...outcome, state: 'failed', error }, result }
  })
}

/** Returns the reason why the backfill has not read its whole range; undefined if it has. */
function missingOf(ended: BackfillOutcome): SyncError | undefined {
  if (ended.state === 'failed') return windowsFailed(ended)
  return ended.state === 'cancelled' ? wasCancelled(ended.report) : undefined
}

function asRun(ended: BackfillOutcome) {
  const { pages, rows, inserted, updated, deleted, rejected, misfits } = ended.figures
  return { pages, figures: { ...noFigures(), rows, inserted, updated, deleted, rejected, misfits }, ended }
}
