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
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../../src/clock.ts'
import { turns } from '../../src/turns.ts'
import { type BackfillRequest, nameBackfill } from '../../src/sync/backfill/backfillRequest.ts'
import type { BackfillBooks } from '../../src/warehouse/books/backfills.ts'
import type { JobQueues } from '../queue/jobQueues.ts'

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

type BackfillJobs = ReadonlyMap<ReportName, BackfillJob>

interface BackfillNamesOptions {
  readonly books: Pick<BackfillBooks, 'open'>
  readonly queues: Pick<JobQueues, 'underWay'>
  readonly clock: Pick<Clock, 'now'>
  readonly startOf: (report: ReportName) => Instant
}

/** Returns a function that finds the unfinished backfill of each request, or creates one, and calls `work`. */
export function openBackfillNames({ books, queues, clock, startOf }: BackfillNamesOptions) {
  /** Backfills that a request is still adding to the queue. A second request must find them, too. */
  const jobsInProgress = new Set<BackfillJob>()
  const inTurn = turns()

  const findOrCreate = async (requested: readonly BackfillRequest[]): Promise<BackfillJobs> => {
    const waiting = (await queues.underWay('backfill')).map(({ data }) => data as BackfillJob)
    const named = new Map<ReportName, BackfillJob>()
    for (const request of requested) {
      const { report } = request
      const known = [...waiting, ...jobsInProgress].filter((job) => job.report === report).map(toOpen)
      const all = { open: async () => [...(await books.open(report)), ...known] }
      const { goesOn: _, ...job } = await nameBackfill(request, {
        books: all,
        start: startOf(report),
        now: clock.now(),
      })
      named.set(report, job)
    }
    for (const job of named.values()) jobsInProgress.add(job)
    return named
  }

  /** Throws USAGE_INVALID if a requested range is not valid. */
  return async <T>(requested: readonly BackfillRequest[], work: (named: BackfillJobs) => Promise<T>): Promise<T> => {
    // One request after another, so that two requests for the same range find the same backfill.
    const named = await inTurn(() => findOrCreate(requested))
    return work(named).finally(() => named.forEach((job) => jobsInProgress.delete(job)))
  }
}

const toOpen = ({ backfillId, from, to }: BackfillJob) => ({ backfillId, since: from as Instant, until: to as Instant })
