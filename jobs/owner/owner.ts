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
import { backfillRun } from '../backfill/backfillRun.ts'
import { pullThroughQueue } from '../backfill/windows.ts'
import type { JobConsumers, Task } from '../queue/consumers.ts'
import type { Housekeeping } from './housekeeping.ts'
import { isDropped, OVERTAKEN } from '../queue/jobOutcome.ts'
import { BackfillJob, HousekeepingJob, IncrementalJob, ReconcileJob } from '../queue/queues.ts'
import type { JobQueues } from '../queue/jobQueues.ts'
import { changedRows, logOutcome, type RunKind, type Runs, type RunWork } from '../runs/runs.ts'
import { Leases, type RunLease } from './leases.ts'
import { attemptOf } from './sharedRuns.ts'

/** Waits for the lease, then runs `work`. Only one worker of the lake has the lease at any time. */
export type LeaseOfLake = (name: string, signal: AbortSignal, work: () => Promise<unknown>) => Promise<unknown>

export interface OwnerOptions {
  readonly context: SharedContext
  readonly consumers: JobConsumers
  readonly queues: JobQueues
  readonly runs: Runs
  readonly housekeeping: Housekeeping
  readonly log: Log
  /** Only for workers that share a lake. */
  readonly leaseOfLake?: LeaseOfLake | undefined
  readonly onWarehouseBroken: () => void
}

/** Maximum number of concurrent incremental runs. It is small, because each run needs memory. */
const RUNS_AT_ONCE = 3
const BACKFILLS_AT_ONCE = 2
const WINDOWS_AT_ONCE = 6

export class Owner {
  readonly #options: OwnerOptions
  readonly #leases = new Leases()

  constructor(options: OwnerOptions) {
    this.#options = options
  }

  consumeRuns(): void {
    const { consumers } = this.#options
    const runs = { schema: IncrementalJob, concurrency: RUNS_AT_ONCE }
    const backfills = { schema: BackfillJob, concurrency: BACKFILLS_AT_ONCE, waitsFor: UNTIL_RESUMED }
    consumers.consume('incremental', { ...runs, process: (task) => this.#incremental(task) })
    consumers.consume('reconcile', { schema: ReconcileJob, process: (task) => this.#reconcile(task) })
    consumers.consume('backfill', { ...backfills, process: (task) => this.#backfill(task) })
  }

  consumeHousekeeping(): void {
    const { consumers, housekeeping } = this.#options
    const process = ({ data, signal }: Task<HousekeepingJob>) => housekeeping.do(data.work, signal)
    consumers.consume('housekeeping', { schema: HousekeepingJob, process })
  }

  async #incremental(task: Task<IncrementalJob>): Promise<unknown> {
    const { report, isTick = false } = task.data
    // A scheduled run may be skipped. Its retries may not, because the run has already begun.
    const isPlanned = isTick && task.job.attemptsMade === 0
    if (isPlanned && !(await mayBegin(this.#options.context, report, 'tick'))) {
      this.#options.log.debug({ report }, `${report}: skipped a run, to keep the budget of requests`)
      return { state: 'skipped' }
    }
    return this.#run(task, 'incremental', async (context) => {
      const [outcome] = await syncAll(context, [report], () => task.id)
      return { outcome: outcome as ReportOutcome }
    })
  }

  #reconcile(task: Task<ReconcileJob>): Promise<unknown> {
    const { report } = task.data
    // A reconcile begins with an incremental run, which needs the same lease as other incremental runs.
    const lease = { name: `incremental ${report}`, runKey: 'reconcile' }
    return this.#run(task, 'reconcile', (context) => {
      const before = () => this.#withLease(task, lease, () => syncReport(context, report, task.id))
      return reconcileRun(context, { ...task.data, runId: task.id, before })
    })
  }

  #backfill(task: Task<BackfillJob>): Promise<unknown> {
    return this.#run(task, 'backfill', async (context) => {
      const { queues, log } = this.#options
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
    const { runs, log, housekeeping } = this.#options
    const { data, signal, cancel } = task
    const { report } = data
    const runId = 'backfillId' in data ? data.backfillId : task.id
    const lease = { name: `${kind} ${report}`, runKey: kind === 'backfill' ? runId : kind }
    const execute = async () => {
      log.debug({ kind, tries: task.job.attemptsMade }, `${report}: ${kind} run begins`)
      const context = { ...this.#options.context, signal, onProgress: () => undefined }
      const run = { runId, report, kind, startedAt: context.clock.now(), cancel, attempt: attemptOf(task.job) }
      const { outcome, result } = await runs.during(run, async (onProgress) => {
        const ended = await work({ ...context, onProgress })
        return { ...ended, isDropped: isDropped(ended.outcome.error, signal) }
      })
      logOutcome(log, kind, outcome)
      const { error, figures, state } = outcome
      // Throws, so that the job of a paused backfill goes back to its queue and continues after `resume`.
      if (state === 'paused' && kind === 'backfill') throw error
      if (state === 'off' || state === 'paused') return { state }
      if (!signal.aborted) await housekeeping.requestPublication(changedRows(outcome) ? 'rows' : 'marks')
      if (error === undefined) return { state, rows: figures.rows }
      // Ends a backfill that has failed windows. A retry of its job would fail at the same windows.
      if (result !== undefined) return { state }
      if (!(await context.warehouse.isUsable())) this.#options.onWarehouseBroken()
      throw error
    }
    return this.#withLease(task, lease, () => inRun({ runId, report }, execute))
  }

  #withLease<T>(task: Task<unknown>, { name, runKey }: Pick<RunLease, 'name' | 'runKey'>, work: () => Promise<T>) {
    const { signal } = task
    const { leaseOfLake } = this.#options
    const lease = { name, runKey, signal, cancel: () => task.cancel(OVERTAKEN) }
    const held = () => (leaseOfLake === undefined ? work() : (leaseOfLake(name, signal, work) as Promise<T>))
    return this.#leases.hold(lease, held)
  }
}

const waitingError = ({ code, message, cure, report }: SyncError): SyncError =>
  new SyncError(code, `${message}; the backfill waits until ${report} is resumed`, { cure, ...(report && { report }) })
