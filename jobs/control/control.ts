/**
 * What can be asked of the process that owns the warehouse while it runs: the same operations whether a command asks
 * through the local socket, from another machine through the queue, or the console. Runs go through the queues like
 * those of the schedule, so nothing that is asked here meets a run of its own kind.
 */
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import { asSyncError, SyncError } from '../../src/errors.ts'
import { cancelBackfill, cancelledBefore } from '../../src/sync/backfill/backfillEnd.ts'
import { type Planned, previewBackfill } from '../../src/sync/backfill/backfillPreview.ts'
import { retryRejected } from '../../src/sync/retryRejected.ts'
import { BackfillNames } from '../backfill/backfillNames.ts'
import type { ControlRequest } from './controlRequest.ts'
import type { Housekeeping } from '../owner/housekeeping.ts'
import { Followed, type Tell } from './followed.ts'
import { CALLED_OFF, calledOffError, STOPPING } from '../queue/jobOutcome.ts'
import type { OwnerContext } from '../owner/housekeeping.ts'
import type { QueueDepth, Requests } from '../queue/requests.ts'
import { type RunningDocument, runningDocument, type Runs } from '../runs/runs.ts'
import { callOffWaiting, type WaitingRun, waitingRuns } from './waitingRuns.ts'
import { outcomeDocument, type Plain } from './wire.ts'

/** What a command shows of the books; the shape is the command's own. */
export interface Views {
  standings(): Promise<unknown>
  marks(): Promise<unknown>
  /** Where the console of this process listens, if it does. */
  console?(): string | undefined
}

export interface ControlParts {
  readonly context: OwnerContext
  readonly requests: Requests
  readonly runs: Runs
  readonly housekeeping: Housekeeping
  readonly views: Views
}

export interface Asking {
  readonly tell: Tell
  /** The asker is gone; what was asked for goes on. */
  readonly signal: AbortSignal
}

/** What a request came to: its result, or its error as plain values. */
export type Answer = { readonly result: unknown } | { readonly error: Plain }

const CALLED_OFF_REMEMBERED_MAX = 100

const neverBegun = ({ kind, report }: WaitingRun): string =>
  `${kind === 'backfill' ? 'a backfill' : 'a run'} of ${report} that had not begun`

export class Control {
  readonly #parts: ControlParts
  readonly #closing = new AbortController()
  /** The retry that was asked for last: a report takes one at a time, and two people may ask at once. */
  #retrying: Promise<unknown> = Promise.resolve()
  readonly #backfillNames: BackfillNames
  /** What no book knows of: who asks for it again is told the same. */
  readonly #calledOff: { readonly id: string; readonly what: string }[] = []

  constructor(parts: ControlParts) {
    this.#parts = parts
    const { context, requests } = parts
    const startOf = (report: ReportName) => context.settings.reports[report].start
    this.#backfillNames = new BackfillNames({
      books: context.warehouse.backfills,
      requests,
      clock: context.clock,
      startOf,
    })
  }

  /** Lets go of everybody who still waits. */
  close(): void {
    this.#closing.abort(calledOffError(STOPPING))
  }

  /** Never rejects: errors are answers too. */
  async answer(request: ControlRequest, asking: Asking): Promise<Answer> {
    const signal = AbortSignal.any([asking.signal, this.#closing.signal])
    try {
      return { result: await this.#do(request, { ...asking, signal }) }
    } catch (thrown) {
      return { error: asSyncError(thrown).toJSON() }
    }
  }

  #do(request: ControlRequest, asking: Asking): Promise<unknown> {
    switch (request.do) {
      case 'sync':
        return this.#sync(request.reports, asking)
      case 'reconcile':
        return this.#reconcile(request, asking)
      case 'backfill':
        return this.#backfill(request.backfills, asking)
      case 'plan-backfill':
        return this.#planBackfill(request.backfills, asking.signal)
      case 'pause':
        return this.#pause(request.reports)
      case 'resume':
        return this.#resume(request.reports, request.onlyRefused)
      case 'cancel':
        return this.#cancel(request.id)
      case 'retry-rejected':
        return this.#retryInTurn(request.reports, asking.signal)
      case 'status':
        return this.#status()
      case 'activity':
        return this.#activity()
    }
    // The schema lets nothing else through.
    return Promise.resolve(undefined)
  }

  /** Audit reports after those that they follow, as in a sync without a worker. */
  async #sync(reports: readonly ReportName[], asking: Asking): Promise<object> {
    const { requests, housekeeping, views } = this.#parts
    const followed = this.#followed('incremental', (report) => requests.incrementalNow(report), asking)
    const ended = [
      ...(await followed.allOf(reports.filter((report) => !isPerRecord(report)))),
      ...(await followed.allOf(reports.filter(isPerRecord))),
    ]
    const published = await housekeeping.published()
    return { outcomes: ended.map(({ outcome }) => outcomeDocument(outcome)), marks: await views.marks(), ...published }
  }

  async #reconcile(
    { reports, allowMassDelete }: { reports: readonly ReportName[]; allowMassDelete: boolean },
    asking: Asking,
  ): Promise<object> {
    const { requests, housekeeping } = this.#parts
    const ask = (report: ReportName) => requests.reconcile(report, { allowMassDelete })
    const ended = await this.#followed('reconcile', ask, asking).allOf(reports)
    await housekeeping.published()
    return { compared: ended.map(({ outcome, result }) => ({ ...outcomeDocument(outcome), found: result })) }
  }

  /** One that is known with this range goes on. */
  async #backfill(asked: readonly AskedBackfill[], asking: Asking): Promise<object> {
    const { requests, housekeeping } = this.#parts
    const ranges = asked.map(({ report, from, to }) => ({ report, from, to }))
    return this.#backfillNames.during(ranges, async (named) => {
      const ask = async (report: ReportName) => {
        const job = named.get(report)
        if (job !== undefined) await requests.backfill(job)
      }
      const ended = await this.#followed('backfill', ask, asking).allOf([...named.keys()])
      const published = await housekeeping.published()
      return {
        ends: ended.map(({ outcome, result }) => ({ ...outcomeDocument(outcome), ended: result })),
        ...published,
      }
    })
  }

  async #planBackfill(asked: readonly AskedBackfill[], signal: AbortSignal): Promise<{ plans: readonly Planned[] }> {
    const { context } = this.#parts
    const books = { books: context.warehouse.backfills, basis: context.warehouse.backfillBasis }
    const asking = { ...context, signal, onProgress: () => undefined }
    const plans: Planned[] = []
    for (const { report, from, to } of asked) plans.push(await previewBackfill(asking, books, { report, from, to }))
    return { plans }
  }

  async #pause(reports: readonly ReportName[]): Promise<object> {
    const { context, housekeeping } = this.#parts
    for (const report of reports) {
      const words = { code: 'REPORT_PAUSED', reason: 'paused by an operator', with: context.settings.identity }
      await context.warehouse.pause({ report, ...words, cure: `Run: tidemark resume ${report}` }, context.clock.now())
    }
    await housekeeping.published()
    return { paused: reports }
  }

  /**
   * Also forgets what the client was refused, goes on with backfills that the pause had stopped or kept waiting, and runs at
   * once: who resumes wants to see it work.
   */
  async #resume(named: readonly ReportName[], onlyRefused = false): Promise<object> {
    const { context, requests, housekeeping } = this.#parts
    const reports = await context.warehouse.resume(named, { onlyRefused })
    if (reports.length === 0) return { resumed: [] }
    for (const report of reports) await context.client.resume(report)
    for (const { backfillId, report, state, since, until } of await context.warehouse.backfills.open()) {
      if (!reports.includes(report) || state === 'failed') continue
      await requests.backfill({ backfillId, report, from: since, to: until })
    }
    for (const report of reports) await requests.backfillsNow(report)
    for (const report of reports) if (context.settings.reports[report].enabled) await requests.incrementalNow(report)
    await housekeeping.published()
    return { resumed: reports }
  }

  /** A run, a backfill, or a job that waits. Error: USAGE_INVALID when there is no such thing. */
  async #cancel(id: string): Promise<object> {
    const { context, runs, housekeeping } = this.#parts
    const report = await cancelBackfill(context, id)
    const wasRunning = runs.callOff(id, CALLED_OFF)
    const waited = await callOffWaiting(this.#parts, id)
    if (report !== undefined) {
      await housekeeping.published()
      return { cancelled: id, what: `the backfill of ${report}` }
    }
    const what = wasRunning ? 'a run' : waited && neverBegun(waited)
    if (what !== undefined) {
      this.#calledOff.push({ id, what })
      if (this.#calledOff.length > CALLED_OFF_REMEMBERED_MAX) this.#calledOff.shift()
      return { cancelled: id, what }
    }
    const before = await cancelledBefore(context, id)
    if (before !== undefined) return { cancelled: id, what: `the backfill of ${before}`, isAlready: true }
    const calledOff = this.#calledOff.find((each) => each.id === id)
    if (calledOff !== undefined) return { cancelled: id, what: calledOff.what, isAlready: true }
    throw new SyncError('USAGE_INVALID', `no run and no backfill ${id} runs or waits`, {
      cure: 'Run "tidemark status": it shows what runs and what waits, with identifiers.',
    })
  }

  #retryInTurn(reports: readonly ReportName[], signal: AbortSignal): Promise<object> {
    const turn = this.#retrying.then(() => this.#retryRejected(reports, signal))
    this.#retrying = turn.catch(() => undefined)
    return turn
  }

  async #retryRejected(reports: readonly ReportName[], signal: AbortSignal): Promise<object> {
    const { context, housekeeping } = this.#parts
    const retried = []
    for (const report of reports) retried.push(await retryRejected({ ...context, signal }, report))
    await housekeeping.published()
    return { retried }
  }

  async #status(): Promise<object> {
    const { views, requests } = this.#parts
    const console = views.console?.()
    return {
      standings: await views.standings(),
      ...(await this.#activity()),
      next: await requests.nextTicks(),
      ...(console !== undefined && { console }),
    }
  }

  async #activity(): Promise<Activity> {
    const { requests, runs } = this.#parts
    return {
      running: runs.running.map(runningDocument),
      waiting: await waitingRuns(requests),
      queues: await requests.depths(),
    }
  }

  #followed(
    kind: 'incremental' | 'reconcile' | 'backfill',
    ask: (report: ReportName) => Promise<void>,
    asking: Asking,
  ) {
    const { runs, requests, context } = this.#parts
    return new Followed({ kind, ask, runs, requests, clock: context.clock, ...asking })
  }
}

export type { Planned } from '../../src/sync/backfill/backfillPreview.ts'

/** What runs and what waits. */
export interface Activity {
  readonly running: readonly RunningDocument[]
  readonly waiting: readonly WaitingRun[]
  readonly queues: Readonly<Record<string, QueueDepth>>
}

type AskedBackfill = Extract<ControlRequest, { do: 'backfill' }>['backfills'][number]
