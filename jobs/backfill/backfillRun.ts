/** Runs a backfill. When a stopped backfill starts again, it loads only the windows that are not loaded yet. */
import type { SyncError } from '../../src/errors.ts'
import type { Instant } from '../../src/instant.ts'
import type { BackfillOptions, BackfillOutcome } from '../../src/sync/backfill/backfill.ts'
import { backfillReport, wasCancelled, windowsFailed } from '../../src/sync/backfill/backfill.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { observeRun, runToEnd } from '../../src/sync/oneRun.ts'
import { pausedReports } from '../../src/sync/pauses.ts'
import { noFigures, nothingRun, type ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { BackfillJob } from '../queue/queues.ts'

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

function missingOf(ended: BackfillOutcome): SyncError | undefined {
  if (ended.state === 'failed') return windowsFailed(ended)
  return ended.state === 'cancelled' ? wasCancelled(ended.report) : undefined
}

function asRun(ended: BackfillOutcome) {
  const { pages, rows, inserted, updated, deleted, rejected, misfits } = ended.figures
  return { pages, figures: { ...noFigures(), rows, inserted, updated, deleted, rejected, misfits }, ended }
}
