/**
 * A backfill as a job. It does the same as without a worker, but its windows are pulled through the queue. Its state is
 * in the books, so a job that is tried again continues where it stopped.
 */
import type { SyncError } from '../../src/errors.ts'
import type { Instant } from '../../src/instant.ts'
import { backfillReport } from '../../src/sync/backfill/backfill.ts'
import { type BackfillOutcome, wasCancelled, windowsFailed } from '../../src/sync/backfill/backfillEnd.ts'
import { noFigures } from '../../src/sync/reportOutcome.ts'
import { runToEnd, type RunRequest, observeRun } from '../../src/sync/oneRun.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import type { BackfillJob } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'
import type { RunWork } from '../runs/runs.ts'
import { pullThroughQueue } from './windows.ts'

/** How many windows of one backfill are pulled, or wait for their load, at once. */
const LANES = 6

export interface BackfillParts {
  readonly context: SyncContext
  readonly requests: Requests
  readonly asked: BackfillJob
  readonly onProgress: Parameters<RunWork>[0]
}

/** Returns the work of a backfill whose windows are pulled through the queue. */
export const backfillStory =
  ({ context, requests, asked, onProgress }: BackfillParts) =>
  (): Promise<BackfillOutcome> => {
    const { backfillId, report } = asked
    const range = { from: asked.from as Instant, to: asked.to as Instant }
    const pull = pullThroughQueue({ context, requests })
    return backfillReport(context, { backfillId, report, ...range, lanes: LANES, pull, onProgress })
  }

/**
 * Does a backfill as an observed run. Never throws: the outcome contains the error. The backfill fails after its other
 * windows are done when some windows failed; they are in the books, and the same backfill reads them again. A cancelled
 * backfill fails too, so that it does not count as the recovery from an earlier failure.
 */
export function watchedBackfill(
  context: SyncContext,
  run: Omit<RunRequest, 'kind'> & { readonly kind: 'backfill' },
  story: () => Promise<BackfillOutcome>,
): Promise<{ outcome: ReportOutcome; result: BackfillOutcome | undefined }> {
  return observeRun(context, run, async () => {
    const { outcome, run: done } = await runToEnd(context, run, async () => asRun(await story()))
    const result = done?.ended
    const error = result && missingOf(result)
    return { outcome: error === undefined ? outcome : { ...outcome, state: 'failed', error }, result }
  })
}

/** Returns why the backfill did not read its whole range; undefined when it did. */
function missingOf(ended: BackfillOutcome): SyncError | undefined {
  if (ended.state === 'failed') return windowsFailed(ended)
  return ended.state === 'cancelled' ? wasCancelled(ended.report) : undefined
}

function asRun(ended: BackfillOutcome) {
  const { pages, rows, inserted, updated, deleted, rejected } = ended.figures
  return { pages, figures: { ...noFigures(), rows, inserted, updated, deleted, rejected }, ended }
}
