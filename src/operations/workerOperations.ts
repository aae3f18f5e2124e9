/** Executes operations in the process that owns the warehouse. */
import { openBackfillJobs } from '../../jobs/backfill/backfillJobs.ts'
import type { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import { type Runs, RUN_KINDS, type RunKind } from '../../jobs/runs/runs.ts'
import { CANCELLED_ON_REQUEST, STOPPING } from '../../jobs/queue/jobOutcome.ts'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import { asSyncError, cancelled } from '../errors.ts'
import { type Standing, ticksInBudget } from '../status/standing.ts'
import type { SharedContext } from '../sync/context.ts'
import { type BackfillPreview, previewBackfill } from '../sync/backfill/backfillPlan.ts'
import type { Activity, AnswerOf, OperationRequest, Reply, RequestOf, WaitingRun } from './contract.ts'
import { problemOf } from './contract.ts'
import { type Caller, type Engine, kindOf } from './engine.ts'
import { followRuns } from './followRuns.ts'
import { carryOut } from './operations.ts'
import type { BackfillJob } from '../../jobs/queue/queues.ts'
import { lastUpkeep } from '../warehouse/database/upkeep.ts'
import { nothingRun } from '../sync/reportOutcome.ts'
import { turns } from '../turns.ts'

export interface WorkerOperationsOptions {
  readonly context: SharedContext
  readonly queues: JobQueues
  readonly runs: Runs
  readonly housekeeping: Housekeeping
  readonly standings: () => Promise<Standing[]>
  readonly console: () => string | undefined
}

export type WorkerOperations = ReturnType<typeof workerOperations>

export function workerOperations(parts: WorkerOperationsOptions) {
  const engine = workerEngine(parts)
  const closing = new AbortController()
  const answerOf = async (request: OperationRequest, caller: Caller): Promise<object> => {
    if (request.do === 'activity') return activityOf(parts)
    if (request.do === 'plan-backfill') return plan(parts.context, request, caller)
    if (request.do !== 'status') return carryOut(engine, request, caller)
    const standings = await parts.standings()
    const next = ticksInBudget(await parts.queues.nextTicks(), standings)
    const [activity, upkeep] = [await activityOf(parts), await lastUpkeep(parts.context.warehouse)]
    return { standings, ...activity, next, console: parts.console(), upkeep } satisfies AnswerOf<'status'>
  }
  return {
    /** Executes an operation. Never rejects: the reply to a failed operation contains `error`. */
    answer: async (request: OperationRequest, caller: Caller): Promise<Reply> => {
      const signal = AbortSignal.any([caller.signal, closing.signal])
      try {
        return { result: await answerOf(request, { ...caller, signal }) }
      } catch (thrown) {
        return { error: problemOf(asSyncError(thrown)) }
      }
    },
    close: () => closing.abort(cancelled(STOPPING)),
  }
}

const CANCELLED_REMEMBERED_MAX = 100

function workerEngine({ context, queues, runs, housekeeping }: WorkerOperationsOptions): Engine {
  const { warehouse, clock, settings } = context
  const startOf = (report: ReportName) => settings.reports[report].start
  const withBackfillJobs = openBackfillJobs({ books: warehouse.backfills, queues, clock, startOf })
  /** The last cancelled runs. A second request to cancel one of them also succeeds. */
  const cancelledRuns: { readonly id: string; readonly what: string }[] = []
  const startNow = (report: ReportName) => queues.addIncrementalNow(report)
  return {
    context,
    publish: () => housekeeping.publish(),
    run: async (request, caller) => {
      const kind = kindOf(request)
      const follow = (reports: readonly ReportName[], addJob: (report: ReportName) => Promise<void>) =>
        followRuns(reports, { kind, addJob, runs, queues, clock, caller })
      if (request.do === 'reconcile') return follow(request.reports, (report) => queues.addReconcile(report, request))
      if (request.do === 'backfill')
        return withBackfillJobs(request.backfills, (jobs) =>
          follow([...jobs.keys()], async (report) => {
            const job = jobs.get(report)
            if (job !== undefined) await queues.addBackfill(job)
          }),
        )
      // Audit reports run last, because they read the entries of rows that the other reports load.
      const first = request.reports.filter((report) => !isPerRecord(report))
      const ended = await follow(first, startNow)
      return [...ended, ...(await follow(request.reports.filter(isPerRecord), startNow))]
    },
    cancel: async (id) => {
      const wasRunning = runs.cancel(id, CANCELLED_ON_REQUEST)
      const waited = await cancelWaiting({ queues, runs }, id)
      if (!wasRunning && waited === undefined) return undefined
      const kind = waited?.kind === 'backfill' ? 'a backfill' : 'a run'
      const what = wasRunning ? 'a run' : `${kind} of ${waited?.report} that had not begun`
      cancelledRuns.push({ id, what })
      if (cancelledRuns.length > CANCELLED_REMEMBERED_MAX) cancelledRuns.shift()
      return what
    },
    cancelledBefore: (id) => cancelledRuns.find((each) => each.id === id)?.what,
    restart: async (reports) => {
      for (const { backfillId, report, state, since, until } of await warehouse.backfills.open()) {
        if (!reports.includes(report) || state === 'failed') continue
        await queues.addBackfill({ backfillId, report, from: since, to: until })
      }
      for (const report of reports) await queues.promoteBackfills(report)
      for (const report of reports) if (settings.reports[report].enabled) await queues.addIncrementalNow(report)
    },
    inTurn: turns(),
  }
}

async function plan(context: SharedContext, { backfills }: RequestOf<'plan-backfill'>, { signal }: Caller) {
  const books = { books: context.warehouse.backfills, basis: context.warehouse.backfillBasis }
  const walk = { ...context, signal, onProgress: () => undefined }
  const plans: BackfillPreview[] = []
  for (const range of backfills) plans.push(await previewBackfill(walk, books, range))
  return { plans }
}

const activityOf = async ({ queues, runs }: WorkerOperationsOptions): Promise<Activity> => ({
  running: [...runs.running],
  waiting: await waitingRuns(queues),
  queues: await queues.depths(),
})

const idOf = (kind: RunKind, { id = '', data }: { readonly id?: string; readonly data: unknown }): string =>
  kind === 'backfill' ? (data as BackfillJob).backfillId : id

export async function waitingRuns(queues: Pick<JobQueues, 'waiting'>): Promise<WaitingRun[]> {
  const ofKind = async (kind: RunKind) =>
    (await queues.waiting(kind)).map((job) => ({ id: idOf(kind, job), report: job.name, kind }))
  return (await Promise.all(RUN_KINDS.map(ofKind))).flat()
}

/** Removes a waiting run from its queue. Callers that wait for this run receive CANCELLED. */
export async function cancelWaiting(
  { queues, runs }: { readonly queues: Pick<JobQueues, 'waiting'>; readonly runs: Pick<Runs, 'endWaiting'> },
  id: string,
): Promise<WaitingRun | undefined> {
  let found: WaitingRun | undefined
  for (const kind of RUN_KINDS) {
    for (const job of await queues.waiting(kind)) {
      if (idOf(kind, job) !== id) continue
      await job.remove()
      const report = job.name as ReportName
      await runs.endWaiting(kind, { ...nothingRun(report), state: 'failed', error: cancelled(CANCELLED_ON_REQUEST) })
      found = { id, report, kind }
    }
  }
  return found
}
