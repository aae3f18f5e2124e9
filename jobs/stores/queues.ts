/**
 * BullMQ's queues, workers and events over one store, whichever it is: each made once with the defaults that this
 * product needs, listened to for errors (an error event without a listener ends the process), and closed in the order
 * in which they need each other.
 */
import {
  type BackendFactory,
  type ConnectionOptions,
  type DefaultJobOptions,
  type Processor,
  Queue,
  type QueueBaseOptions,
  QueueEvents,
  type RedisQueueBackend,
  type Telemetry,
  Worker,
  type WorkerOptions,
} from 'bullmq'

export interface QueueParts {
  readonly backend: BackendFactory<RedisQueueBackend>
  readonly prefix: string
  /** Gives up soon: for who adds jobs. */
  readonly asking: ConnectionOptions
  /** Waits for the store however long it takes: for who takes jobs. */
  readonly waiting: ConnectionOptions
  /** Marks a worker's session where the store has no prefix for it. */
  readonly workerName?: string
  readonly onError: (error: unknown) => void
  /** What is told to whom the store did not do what it was asked for. */
  readonly unwilling: (error: unknown) => Error
  readonly telemetry?: Telemetry | undefined
  /** How many jobs of each kind that have ended a queue keeps at most; undefined: as many as came in their time. */
  readonly endedMax?: number
  /** False while the store is away: then nothing can be closed with its help. */
  readonly isConnected: () => boolean
}

const DAY_S = 24 * 3_600

const KEPT_S = { completed: DAY_S, failed: 7 * DAY_S }

/** A killed worker's job is with another one within 20 s; a worker may be blocked for half of the lock's time. */
const LOCKS = { lockDuration: 15_000, stalledInterval: 5_000 }

/** After a failed question to the store a worker asks again; BullMQ's own quarter of a minute is long for a restart. */
const ASK_AGAIN = { runRetryDelay: 2_000 }

/** What commands are answered by: a driver's own error would be told as a defect of ours. */
const CALLS = [
  'add',
  'getActive',
  'getDelayed',
  'getJob',
  'getJobCounts',
  'getJobs',
  'getJobSchedulers',
  'getJobState',
  'getWorkers',
] as const satisfies readonly (keyof Queue)[]

/** A job whose worker died did nothing wrong: crashes alone never fail it for good. */
const STALLED_COUNT_MAX = 1_000_000

export class Queues {
  readonly #parts: QueueParts
  readonly #queues = new Map<string, Queue>()
  readonly #events = new Map<string, QueueEvents>()
  readonly #workers = new Set<Worker>()

  constructor(parts: QueueParts) {
    this.#parts = parts
  }

  queue<Data>(name: string): Queue<Data> {
    const known = this.#queues.get(name)
    if (known !== undefined) return known as Queue<Data>
    const { asking, backend, onError, unwilling } = this.#parts
    const queue = new Queue(name, { ...this.#base(asking), defaultJobOptions: this.#retention() }, backend)
    queue.on('error', onError)
    for (const call of CALLS) {
      const ask = (queue[call] as (...args: unknown[]) => Promise<unknown>).bind(queue)
      const asked = (...args: unknown[]) => ask(...args).catch((error: unknown) => Promise.reject(unwilling(error)))
      Object.assign(queue, { [call]: asked })
    }
    this.#queues.set(name, queue)
    return queue as Queue<Data>
  }

  worker<Data, Result>(
    name: string,
    processor: Processor<Data, Result>,
    options: Partial<WorkerOptions> = {},
  ): Worker<Data, Result> {
    const { waiting, backend, onError, workerName } = this.#parts
    const named = workerName === undefined ? {} : { name: workerName }
    const ours = { ...this.#base(waiting), ...LOCKS, ...ASK_AGAIN, ...named, maxStalledCount: STALLED_COUNT_MAX }
    const worker = new Worker<Data, Result>(name, processor, { ...ours, ...options }, backend)
    worker.on('error', onError)
    // A second close has no say any more: what is begun while the store is away must not wait for it.
    const close = worker.close.bind(worker)
    worker.close = (force = !this.#parts.isConnected()) => close(force)
    // Without its lock a job may be running elsewhere already: its work here is to end.
    worker.on('lockRenewalFailed', (ids) => ids.forEach((id) => worker.cancelJob(id, 'the lock of the job was lost')))
    const kept = worker as Worker
    this.#workers.add(kept)
    worker.on('closed', () => this.#workers.delete(kept))
    return worker
  }

  events(name: string): QueueEvents {
    const known = this.#events.get(name)
    if (known !== undefined) return known
    const { waiting, backend, onError } = this.#parts
    const events = new QueueEvents(name, this.#base(waiting), backend)
    events.on('error', onError)
    this.#events.set(name, events)
    return events
  }

  workersHere(name: string): number {
    return [...this.#workers].filter((worker) => worker.name === name && worker.closing === undefined).length
  }

  /** Workers wait for their running jobs, unless the store is away: then nothing could be written of them anyway. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.close()))
    await Promise.allSettled([...this.#events.values()].map((events) => events.close()))
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
  }

  #retention(): Pick<DefaultJobOptions, 'removeOnComplete' | 'removeOnFail'> {
    const { endedMax } = this.#parts
    const most = endedMax === undefined ? {} : { count: endedMax }
    return { removeOnComplete: { age: KEPT_S.completed, ...most }, removeOnFail: { age: KEPT_S.failed, ...most } }
  }

  #base(connection: ConnectionOptions): QueueBaseOptions & { prefix: string } {
    const { prefix, telemetry } = this.#parts
    return { connection, prefix, ...(telemetry && { telemetry }) }
  }
}
