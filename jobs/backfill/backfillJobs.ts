/** Finds the jobs of requested backfills, so that a range is not read twice at once. */
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../../src/clock.ts'
import type { Instant } from '../../src/instant.ts'
import { type BackfillRequest, nameBackfill } from '../../src/sync/backfill/backfillRequest.ts'
import { turns } from '../../src/turns.ts'
import type { BackfillBooks } from '../../src/warehouse/books/backfills.ts'
import type { JobQueues } from '../queue/jobQueues.ts'
import type { BackfillJob } from '../queue/queues.ts'

type BackfillJobs = ReadonlyMap<ReportName, BackfillJob>

interface BackfillJobsOptions {
  readonly books: Pick<BackfillBooks, 'open'>
  readonly queues: Pick<JobQueues, 'underWay'>
  readonly clock: Pick<Clock, 'now'>
  readonly startOf: (report: ReportName) => Instant
}

/** Returns a function that finds the unfinished backfill of each request, or creates one, and calls `work`. */
export function openBackfillJobs({ books, queues, clock, startOf }: BackfillJobsOptions) {
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
