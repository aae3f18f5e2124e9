/** Finds or creates the backfill for each request. Equal requests join one backfill: two clicks read a range once. */
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../../src/clock.ts'
import type { Instant } from '../../src/instant.ts'
import { type BackfillRequest, nameBackfill } from '../../src/sync/backfill/backfillRequest.ts'
import type { BackfillBooks } from '../../src/warehouse/books/backfills.ts'
import type { BackfillJob } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'

export type NamedJobs = ReadonlyMap<ReportName, BackfillJob>

export interface BackfillNamesParts {
  readonly books: Pick<BackfillBooks, 'open'>
  readonly requests: Pick<Requests, 'underWay'>
  readonly clock: Pick<Clock, 'now'>
  /** Returns the report's setting `start`. */
  readonly startOf: (report: ReportName) => Instant
}

export class BackfillNames {
  readonly #parts: BackfillNamesParts
  /** Backfills of requests that are still being handled. Their jobs may not be in the queue yet. */
  readonly #given = new Set<BackfillJob>()
  #giving: Promise<unknown> = Promise.resolve()

  constructor(parts: BackfillNamesParts) {
    this.#parts = parts
  }

  /**
   * Runs `work` with one job per report. Until `work` ends, requests for the same range join the same backfill. Throws
   * USAGE_INVALID for a range that can't be backfilled, such as one that ends in the future.
   */
  async during<T>(asked: readonly BackfillRequest[], work: (named: NamedJobs) => Promise<T>): Promise<T> {
    // Handles requests one after the other, so that each one finds the backfills of earlier requests.
    const giving = this.#giving.then(() => this.#name(asked))
    this.#giving = giving.catch(() => undefined)
    const named = await giving
    try {
      return await work(named)
    } finally {
      for (const job of named.values()) this.#given.delete(job)
    }
  }

  async #name(asked: readonly BackfillRequest[]): Promise<NamedJobs> {
    const { requests, clock, startOf } = this.#parts
    const waiting = (await requests.underWay('backfill')).map(({ data }) => data as BackfillJob)
    const named = new Map<ReportName, BackfillJob>()
    for (const request of asked) {
      const { report } = request
      const known = [...waiting, ...this.#given].filter((job) => job.report === report).map(asOpen)
      const books = { open: async () => [...(await this.#parts.books.open(report)), ...known] }
      const parts = { books, start: startOf(report), now: clock.now() }
      const { goesOn: _, ...job } = await nameBackfill(request, parts)
      named.set(report, job)
    }
    for (const job of named.values()) this.#given.add(job)
    return named
  }
}

const asOpen = ({ backfillId, from, to }: BackfillJob) => ({ backfillId, since: from as Instant, until: to as Instant })
