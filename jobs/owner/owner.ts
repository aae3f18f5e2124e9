/** Runs the jobs that only the owner of the warehouse takes. */
import { SyncError } from '../../src/errors.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import { type Log, inRun } from '../../src/log.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import { UNTIL_RESUMED } from '../../src/sync/pauses.ts'
import { reconcileRun } from '../../src/sync/reconcile.ts'
import type { Pull } from '../../src/sync/backfill/handover.ts'
import type { SharedContext, SyncContext } from '../../src/sync/context.ts'
import { mayBegin } from '../../src/sync/requestBudget.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { syncReport } from '../../src/sync/syncReport.ts'
import { backfillRun } from '../backfill/backfill.ts'
import { pullThroughQueue } from '../backfill/windows.ts'
import type { JobConsumers, Task } from '../queue/consumers.ts'
import type { Housekeeping } from './housekeeping.ts'
import { isDropped, OVERTAKEN } from '../queue/jobOutcome.ts'
import { BackfillJob, HousekeepingJob, IncrementalJob, ReconcileJob } from '../queue/queues.ts'
import type { JobQueues } from '../queue/jobQueues.ts'
import { changedRows, logOutcome, type RunKind, type Runs, type RunWork } from '../runs/runs.ts'
import { attemptOf } from './sharedRuns.ts'

export interface OwnerOptions {
  readonly context: SharedContext
  readonly consumers: JobConsumers
  readonly queues: JobQueues
  readonly runs: Runs
  readonly housekeeping: Housekeeping
  readonly log: Log
  /** Only for workers that share a lake. */
  readonly lease?: ((name: string, signal: AbortSignal, work: () => Promise<unknown>) => Promise<unknown>) | undefined
  readonly onWarehouseBroken: () => void
}

/** How many runs a worker executes at the same time. More would need more memory. */
const RUNS_AT_ONCE = 3
const BACKFILLS_AT_ONCE = 2
const WINDOWS_AT_ONCE = 6

export class Owner {
  readonly #parts: OwnerOptions
  readonly #leases = new Leases()

  constructor(parts: OwnerOptions) {
    this.#parts = parts
  }

  start(): void {
    const { consumers } = this.#parts
    const runs = { schema: IncrementalJob, concurrency: RUNS_AT_ONCE }
    const backfills = { schema: BackfillJob, concurrency: BACKFILLS_AT_ONCE, waitsFor: UNTIL_RESUMED }
    consumers.consume('incremental', { ...runs, process: (task) => this.#incremental(task) })
    consumers.consume('reconcile', { schema: ReconcileJob, process: (task) => this.#reconcile(task) })
    consumers.consume('backfill', { ...backfills, process: (task) => this.#backfill(task) })
  }

  keepHouse(): void {
    const { consumers, housekeeping } = this.#parts
    const keepHouse = ({ data, signal }: Task<HousekeepingJob>) => housekeeping.do(data.work, signal)
    consumers.consume('housekeeping', { schema: HousekeepingJob, process: keepHouse })
  }

  async #incremental(task: Task<IncrementalJob>): Promise<unknown> {
    const { report, isTick = false } = task.data
    // A scheduled run may be skipped, but its retries may not.
    const isPlanned = isTick && task.job.attemptsMade === 0
    if (isPlanned && !(await mayBegin(this.#parts.context, report, 'tick'))) {
      this.#parts.log.debug({ report }, `${report}: skipped a run, to keep the budget of requests`)
      return { state: 'skipped' }
    }
    return this.#run(task, 'incremental', async (context) => {
      const [outcome] = await syncAll(context, [report], () => task.id)
      return { outcome: outcome as ReportOutcome }
    })
  }

  #reconcile(task: Task<ReconcileJob>): Promise<unknown> {
    return this.#run(task, 'reconcile', (context) => {
      const before = () => this.#runIncrementalFirst(task, context)
      return reconcileRun(context, { ...task.data, runId: task.id, before })
    })
  }

  /** A reconcile begins with an incremental run, which needs the same lease as other incremental runs. */
  #runIncrementalFirst(task: Task<ReconcileJob>, context: SyncContext) {
    const { report } = task.data
    const lease = { ...this.#lease(task, `incremental ${report}`), runKey: 'reconcile' }
    return this.#leases.hold(lease, () => syncReport(context, report, task.id))
  }

  #backfill(task: Task<BackfillJob>): Promise<unknown> {
    return this.#run(task, 'backfill', async (context) => {
      const { queues, log } = this.#parts
      const { report } = task.data
      const pullNow = pullThroughQueue({ context, queues })
      let hasWaited = false
      const pull: Pull = async (ask, signal) => {
        while (!(await mayBegin(context, report, 'window'))) {
          if (!hasWaited) log.info({ report }, `${report}: the backfill waits until the budget of requests has room`)
          hasWaited = true
          await context.clock.sleep(MINUTE_MS, signal)
        }
        return pullNow(ask, signal)
      }
      const ended = await backfillRun(context, task.data, { lanes: WINDOWS_AT_ONCE, pull })
      const { state, error } = ended.outcome
      return state === 'paused' && error ? { outcome: { ...ended.outcome, error: waitingError(error) } } : ended
    })
  }

  #run(
    task: Task<IncrementalJob | ReconcileJob | BackfillJob>,
    kind: RunKind,
    work: (context: SyncContext) => ReturnType<RunWork>,
  ): Promise<unknown> {
    const { runs, log, housekeeping } = this.#parts
    const { data, signal, cancel } = task
    const { report } = data
    const runId = 'backfillId' in data ? data.backfillId : task.id
    const lease = { ...this.#lease(task, `${kind} ${report}`), runKey: kind === 'backfill' ? runId : kind }
    const story = async () => {
      log.debug({ kind, tries: task.job.attemptsMade }, `${report}: ${kind} run begins`)
      const context = { ...this.#parts.context, signal, onProgress: () => undefined }
      const run = { runId, report, kind, startedAt: context.clock.now(), cancel, attempt: attemptOf(task.job) }
      const { outcome, result } = await runs.during(run, async (onProgress) => {
        const ended = await work({ ...context, onProgress })
        return { ...ended, isDropped: isDropped(ended.outcome.error, signal) }
      })
      logOutcome(log, kind, outcome)
      const { error, figures, state } = outcome
      // The job of a paused backfill waits in its queue.
      if (state === 'paused' && kind === 'backfill') throw error
      if (state === 'off' || state === 'paused') return { state }
      if (!signal.aborted) await housekeeping.requestPublication(changedRows(outcome) ? 'rows' : 'marks')
      if (error === undefined) return { state, rows: figures.rows }
      // A backfill with failed windows is not tried again, because it would fail again.
      if (result !== undefined) return { state }
      if (!(await context.warehouse.answers())) this.#parts.onWarehouseBroken()
      throw error
    }
    return this.#leases.hold(lease, () => inRun({ runId, report }, story))
  }

  #lease({ signal, cancel }: Task<unknown>, name: string) {
    return { name, signal, cancel: () => cancel(OVERTAKEN), among: this.#parts.lease }
  }
}

const waitingError = ({ code, message, cure, report }: SyncError): SyncError =>
  new SyncError(code, `${message}; the backfill waits until ${report} is resumed`, { cure, ...(report && { report }) })

interface LeaseRequest {
  readonly name: string
  /** A newer run with the same key replaces the older run. */
  readonly runKey: string
  readonly signal: AbortSignal
  readonly cancel: () => void
  /** Makes the lease exclusive among all workers of a lake. */
  readonly among?: OwnerOptions['lease']
}

/** Prevents two runs of a job at once, because the queue can start a job twice. */
export class Leases {
  readonly #holders = new Map<string, Pick<LeaseRequest, 'runKey' | 'cancel'> & { readonly ended: Promise<void> }>()

  async hold<T>({ name, runKey, signal, cancel, among }: LeaseRequest, work: () => Promise<T>): Promise<T> {
    for (let holder = this.#holders.get(name); holder !== undefined; holder = this.#holders.get(name)) {
      if (holder.runKey === runKey) holder.cancel()
      await holder.ended
      signal.throwIfAborted()
    }
    const end = Promise.withResolvers<void>()
    this.#holders.set(name, { runKey, cancel, ended: end.promise })
    try {
      return await (among === undefined ? work() : (among(name, signal, work) as Promise<T>))
    } finally {
      this.#holders.delete(name)
      end.resolve()
    }
  }
}
