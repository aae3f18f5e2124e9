/** The BullMQ workers of one process, which run jobs. */
import type { Job, Worker, WorkerOptions } from 'bullmq'
import type { z } from 'zod'
import { type Clock, within } from '../../src/clock.ts'
import { asSyncError, cancelled, type ErrorCode } from '../../src/errors.ts'
import type { Log } from '../../src/log.ts'
import { errorOfReason, retryDelayMs, settleJob, STOPPING } from './jobOutcome.ts'
import type { QueueName } from './queues.ts'
import type { QueueStore } from '../stores/store.ts'

export interface ConsumersOptions {
  readonly store: QueueStore
  readonly clock: Clock
  readonly log: Log
  readonly locks?: Pick<WorkerOptions, 'lockDuration' | 'stalledInterval'> | undefined
}

export interface Task<Data> {
  readonly id: string
  readonly data: Data
  readonly signal: AbortSignal
  readonly cancel: (why: string) => void
  readonly job: Job
}

export interface Consumer<Data> {
  readonly schema: z.ZodType<Data>
  readonly concurrency?: number
  /** A job that fails with one of these errors is tried again every few minutes, until an operator has acted. */
  readonly waitsFor?: readonly ErrorCode[]
  readonly process: (task: Task<Data>) => Promise<unknown>
}

const STOP_MS_MAX = 1_500

export class JobConsumers {
  readonly #options: ConsumersOptions
  readonly #workers: Worker[] = []
  readonly #cancels = new Set<(why: string) => void>()
  #stopping = false

  constructor(options: ConsumersOptions) {
    this.#options = options
  }

  consume<Data>(queue: QueueName, consumer: Consumer<Data>): void {
    const { store, clock, locks } = this.#options
    // BullMQ passes a signal only to a function that declares three parameters.
    const process = (job: Job<unknown>, token: string | undefined, signal?: AbortSignal) =>
      this.#process(consumer, { job, token, signal })
    const worker = store.worker<unknown, unknown>(queue, process, {
      concurrency: consumer.concurrency ?? 1,
      settings: { backoffStrategy: (tries, _, error) => retryDelayMs(tries, error, () => clock.random()) },
      ...locks,
    })
    worker.on('failed', (job, error) => this.#logFailure(queue, job, error))
    this.#workers.push(worker as Worker)
  }

  /** Stops the workers and puts running jobs back into their queues. Waits for at most `STOP_MS_MAX`. */
  async stop(): Promise<void> {
    this.#stopping = true
    const { clock, log } = this.#options
    const closing = Promise.allSettled(this.#workers.map((worker) => worker.close()))
    for (const cancel of this.#cancels) cancel(STOPPING)
    const isClosed = (await within(STOP_MS_MAX, clock, () => closing)) !== undefined
    const jobs = this.#cancels.size
    if (!isClosed && jobs > 0)
      log.warn({ jobs }, 'some jobs did not end in time; they are recovered when their locks expire')
  }

  async #process<Data>(
    { schema, process, waitsFor }: Consumer<Data>,
    taken: { job: Job<unknown>; token: string | undefined; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    const { job, token, signal: lost } = taken
    const aborting = new AbortController()
    let abortReason: string | undefined
    const cancel = (why: string) => {
      abortReason ??= why
      aborting.abort(cancelled(abortReason))
    }
    lost?.addEventListener('abort', () => cancel(String(lost.reason)), { once: true })
    if (this.#stopping) cancel(STOPPING)
    this.#cancels.add(cancel)
    return settleJob({ job, token, abortReason: () => abortReason, waitsFor, clock: this.#options.clock }, async () => {
      aborting.signal.throwIfAborted()
      return process({ id: job.id ?? '', data: schema.parse(job.data), signal: aborting.signal, cancel, job })
    }).finally(() => this.#cancels.delete(cancel))
  }

  #logFailure(queue: QueueName, job: Job<unknown> | undefined, error: Error): void {
    const { log } = this.#options
    const fields = { queue, job: job?.id, name: job?.name, tries: job?.attemptsMade, reason: error.message }
    const what = `${queue} ${job?.name ?? ''}`.trim()
    if (errorOfReason(error.message).code === 'CANCELLED') log.debug(fields, `${what}: cancelled`)
    else if (job?.finishedOn !== undefined) log.error(fields, `${what}: given up`)
    else log[asSyncError(error).code === 'LAKE_BUSY' ? 'warn' : 'debug'](fields, `${what}: will be tried again`)
  }
}
