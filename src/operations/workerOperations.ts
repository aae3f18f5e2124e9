/** Executes operations in the warehouse's owner. Uses the queues, so that runs of one kind and report never overlap. */
import { BackfillNames } from '../../jobs/backfill/backfill.ts'
import type { Housekeeping, OwnerContext } from '../../jobs/owner/housekeeping.ts'
import { type Runs, RUN_KINDS, type RunKind } from '../../jobs/runs/runs.ts'
import { CANCELLED_ON_REQUEST, STOPPING } from '../../jobs/queue/jobOutcome.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import { asSyncError, cancelled } from '../errors.ts'
import type { Standing } from '../status/standing.ts'
import { type BackfillPreview, previewBackfill } from '../sync/backfill/backfillPlan.ts'
import {
  type Activity,
  type AnswerOf,
  type OperationRequest,
  problemOf,
  type Reply,
  type RequestOf,
  type WaitingRun,
} from './contract.ts'
import type { Caller, EndedRun, Engine, RunRequest } from './engine.ts'
import { followRuns } from './followRuns.ts'
import { carryOut } from './operations.ts'
import type { BackfillJob } from '../../jobs/queue/queues.ts'
import { nothingRun } from '../sync/reportOutcome.ts'

export interface WorkerOperationsOptions {
  readonly context: OwnerContext
  readonly requests: Requests
  readonly runs: Runs
  readonly housekeeping: Housekeeping
  readonly standings: () => Promise<Standing[]>
  readonly console: () => string | undefined
}

const CANCELLED_REMEMBERED_MAX = 100

export class WorkerOperations implements Engine {
  readonly context: OwnerContext
  readonly #parts: WorkerOperationsOptions
  readonly #closing = new AbortController()
  readonly #backfillNames: BackfillNames
  /** The runs that `cancel` stopped most recently. A second `cancel` of such a run succeeds, although it has ended. */
  readonly #cancelled: { readonly id: string; readonly what: string }[] = []
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: WorkerOperationsOptions) {
    this.#parts = parts
    this.context = parts.context
    const { warehouse, clock, settings } = parts.context
    const startOf = (report: ReportName) => settings.reports[report].start
    this.#backfillNames = new BackfillNames({ books: warehouse.backfills, requests: parts.requests, clock, startOf })
  }

  close(): void {
    this.#closing.abort(cancelled(STOPPING))
  }

  /** Never rejects: the reply to a failed operation contains `error`. */
  async answer(request: OperationRequest, { by, tell, signal }: Caller): Promise<Reply> {
    const caller = { by, tell, signal: AbortSignal.any([signal, this.#closing.signal]) }
    try {
      return { result: await this.#carryOut(request, caller) }
    } catch (thrown) {
      return { error: problemOf(asSyncError(thrown)) }
    }
  }

  #carryOut(request: OperationRequest, caller: Caller): Promise<object> {
    if (request.do === 'status') return this.#status()
    if (request.do === 'activity') return this.#activity()
    return request.do === 'plan-backfill' ? this.#plan(request, caller) : carryOut(this, request, caller)
  }

  async run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]> {
    const { requests, runs, context } = this.#parts
    const { kind } = request
    const follow = (reports: readonly ReportName[], ask: (report: ReportName) => Promise<void>) =>
      followRuns(reports, { kind, ask, runs, requests, clock: context.clock, caller })
    if (kind === 'reconcile')
      return follow(request.reports, (report) =>
        requests.reconcile(report, { allowMassDelete: request.allowMassDelete }),
      )
    if (kind === 'backfill')
      return this.#backfillNames.withJobs(request.ranges, (jobs) =>
        follow([...jobs.keys()], async (report) => {
          const job = jobs.get(report)
          if (job !== undefined) await requests.backfill(job)
        }),
      )
    const ask = (report: ReportName) => requests.incrementalNow(report)
    // Audit reports run last, because they request the trails of the records that the other reports have read.
    const before = await follow(
      request.reports.filter((report) => !isPerRecord(report)),
      ask,
    )
    return [...before, ...(await follow(request.reports.filter(isPerRecord), ask))]
  }

  publish() {
    return this.#parts.housekeeping.publish()
  }

  async cancel(id: string): Promise<string | undefined> {
    const wasRunning = this.#parts.runs.cancel(id, CANCELLED_ON_REQUEST)
    const waited = await cancelWaiting(this.#parts, id)
    if (!wasRunning && waited === undefined) return undefined
    const kind = waited?.kind === 'backfill' ? 'a backfill' : 'a run'
    const what = wasRunning ? 'a run' : `${kind} of ${waited?.report} that had not begun`
    this.#cancelled.push({ id, what })
    if (this.#cancelled.length > CANCELLED_REMEMBERED_MAX) this.#cancelled.shift()
    return what
  }

  cancelledBefore(id: string): string | undefined {
    return this.#cancelled.find((each) => each.id === id)?.what
  }

  async restart(reports: readonly ReportName[]): Promise<void> {
    const { context, requests } = this.#parts
    for (const { backfillId, report, state, since, until } of await context.warehouse.backfills.open()) {
      if (!reports.includes(report) || state === 'failed') continue
      await requests.backfill({ backfillId, report, from: since, to: until })
    }
    for (const report of reports) await requests.backfillsNow(report)
    for (const report of reports) if (context.settings.reports[report].enabled) await requests.incrementalNow(report)
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #plan({ backfills }: RequestOf<'plan-backfill'>, { signal }: Caller): Promise<AnswerOf<'plan-backfill'>> {
    const { context } = this.#parts
    const books = { books: context.warehouse.backfills, basis: context.warehouse.backfillBasis }
    const plans: BackfillPreview[] = []
    for (const { report, from, to } of backfills)
      plans.push(
        await previewBackfill({ ...context, signal, onProgress: () => undefined }, books, { report, from, to }),
      )
    return { plans }
  }

  async #status(): Promise<AnswerOf<'status'>> {
    const { standings, requests, console } = this.#parts
    return {
      standings: await standings(),
      ...(await this.#activity()),
      next: [...(await requests.nextTicks())],
      console: console(),
    }
  }

  async #activity(): Promise<Activity> {
    const { requests, runs } = this.#parts
    return { running: [...runs.running], waiting: await waitingRuns(requests), queues: await requests.depths() }
  }
}

const idOf = (kind: RunKind, { id = '', data }: { readonly id?: string; readonly data: unknown }): string =>
  kind === 'backfill' ? (data as BackfillJob).backfillId : id

export async function waitingRuns(requests: Pick<Requests, 'waiting'>): Promise<WaitingRun[]> {
  const ofKind = async (kind: RunKind) =>
    (await requests.waiting(kind)).map((job) => ({ id: idOf(kind, job), report: job.name, kind }))
  return (await Promise.all(RUN_KINDS.map(ofKind))).flat()
}

/** Removes a waiting run from its queue and returns it. Commands that wait for this run receive CANCELLED. */
export async function cancelWaiting(
  { requests, runs }: { readonly requests: Pick<Requests, 'waiting'>; readonly runs: Pick<Runs, 'neverBegins'> },
  id: string,
): Promise<WaitingRun | undefined> {
  let found: WaitingRun | undefined
  for (const kind of RUN_KINDS) {
    for (const job of await requests.waiting(kind)) {
      if (idOf(kind, job) !== id) continue
      await job.remove()
      const report = job.name as ReportName
      runs.neverBegins(kind, { ...nothingRun(report), state: 'failed', error: cancelled(CANCELLED_ON_REQUEST) })
      found = { id, report, kind }
    }
  }
  return found
}
