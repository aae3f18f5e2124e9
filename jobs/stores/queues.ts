/** Creates BullMQ's queues and workers on one store. Each has an error listener, so that no error ends the process. */
import {
  type BackendFactory,
  type ConnectionOptions,
  type DefaultJobOptions,
  type Processor,
  Queue,
  type QueueBaseOptions,
  type RedisQueueBackend,
  type Telemetry,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import type { Clock } from '../../src/clock.ts'
import { pausesOn, type SharedValues } from './sharedValues.ts'
import { SharedTokens } from './sharedTokens.ts'
import type { Opening, QueueStore, StoreFinding, StoreKind } from './store.ts'
import { messageOf, type ProblemLog, temporaryError } from './problemLog.ts'

interface QueuesOptions {
  readonly backend: BackendFactory<RedisQueueBackend>
  readonly prefix: string
  /** Redis only: the connection for adding jobs. A call fails soon if Redis is unreachable. */
  readonly asking?: ConnectionOptions
  /** Redis only: the connection for taking jobs. A call waits until Redis is reachable. */
  readonly waiting?: ConnectionOptions
  readonly workerName?: string
  readonly workerOptions?: Pick<WorkerOptions, 'drainDelay' | 'stalledInterval'>
  readonly onError: (error: unknown) => void
  readonly toError: (error: unknown) => Error
  readonly telemetry?: Telemetry | undefined
  /** Each queue keeps at most this number of ended jobs. If undefined, only old jobs are deleted. */
  readonly endedMax?: number
  readonly isConnected?: () => boolean
}

const DAY_S = 24 * 3_600

const KEPT_S = { completed: DAY_S, failed: 7 * DAY_S }

/** A dead worker's job runs again after 20 s. A worker can lose its job if its event loop is blocked for 7.5 s. */
const LOCKS = { lockDuration: 15_000, stalledInterval: 5_000 }

const RETRY_OPTIONS = { runRetryDelay: 2_000 }

/** If one of these methods fails, the driver's error is converted to a SyncError with instructions for the user. */
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

/** BullMQ fails a job after this number of its workers have died. The number is so high that this never happens. */
const STALLED_COUNT_MAX = 1_000_000

export class Queues {
  readonly #parts: QueuesOptions
  readonly #queues = new Map<string, Queue>()
  readonly #workers = new Set<Worker>()

  constructor(parts: QueuesOptions) {
    this.#parts = parts
  }

  queue<Data>(name: string): Queue<Data> {
    const known = this.#queues.get(name)
    if (known !== undefined) return known as Queue<Data>
    const { asking, backend, onError, toError } = this.#parts
    const queue = new Queue(name, { ...this.#base(asking), defaultJobOptions: this.#retention() }, backend)
    queue.on('error', onError)
    for (const call of CALLS) {
      const method = (queue[call] as (...args: unknown[]) => Promise<unknown>).bind(queue)
      const wrapped = (...args: unknown[]) => method(...args).catch((error: unknown) => Promise.reject(toError(error)))
      Object.assign(queue, { [call]: wrapped })
    }
    this.#queues.set(name, queue)
    return queue as Queue<Data>
  }

  worker<Data, Result>(
    name: string,
    processor: Processor<Data, Result>,
    options: Partial<WorkerOptions> = {},
  ): Worker<Data, Result> {
    const { waiting, backend, onError, workerName, workerOptions } = this.#parts
    const named = workerName === undefined ? {} : { name: workerName }
    const limits = { ...LOCKS, ...RETRY_OPTIONS, ...workerOptions, maxStalledCount: STALLED_COUNT_MAX }
    const ours = { ...this.#base(waiting), ...limits, ...named }
    const worker = new Worker<Data, Result>(name, processor, { ...ours, ...options }, backend)
    worker.on('error', onError)
    // BullMQ ignores later calls of `close`, so the first call must not wait for an unreachable store.
    const close = worker.close.bind(worker)
    worker.close = (force = this.#parts.isConnected?.() === false) => close(force)
    // A job whose lock was lost can already run in another process, so this process cancels the job.
    worker.on('lockRenewalFailed', (ids) => ids.forEach((id) => worker.cancelJob(id, 'the lock of the job was lost')))
    const kept = worker as Worker
    this.#workers.add(kept)
    worker.on('closed', () => this.#workers.delete(kept))
    return worker
  }

  workersHere(name: string): number {
    return [...this.#workers].filter((worker) => worker.name === name && worker.closing === undefined).length
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#workers].map((worker) => worker.close()))
    await Promise.allSettled([...this.#queues.values()].map((queue) => queue.close()))
  }

  #retention(): Pick<DefaultJobOptions, 'removeOnComplete' | 'removeOnFail'> {
    const { endedMax } = this.#parts
    const most = endedMax === undefined ? {} : { count: endedMax }
    return { removeOnComplete: { age: KEPT_S.completed, ...most }, removeOnFail: { age: KEPT_S.failed, ...most } }
  }

  #base(connection: ConnectionOptions = {}): QueueBaseOptions & { prefix: string } {
    const { prefix, telemetry } = this.#parts
    return { connection, prefix, ...(telemetry && { telemetry }) }
  }
}

interface StoreComponents extends Omit<QueuesOptions, 'prefix' | 'telemetry' | 'onError' | 'toError'> {
  readonly kind: StoreKind
  readonly shown: string
  readonly problems: ProblemLog
  readonly values: SharedValues
  readonly check: () => Promise<readonly StoreFinding[]>
  readonly workersOf: (name: string, queues: Queues) => Promise<number>
  readonly release: () => Promise<void>
}

const CLOSING_MS_MAX = 4_000

const READY_MS = 60_000

export function composeStore({ clock, prefix, leaseMs, telemetry }: Opening, parts: StoreComponents): QueueStore {
  const { kind, shown, problems, values, check, workersOf, release, ...ofQueues } = parts
  const { mask, log: onError } = problems
  const reason = (error: unknown) => temporaryError(shown, mask(messageOf(error)))
  const queues = new Queues({ ...ofQueues, prefix, telemetry, onError, toError: reason })
  let closed: Promise<void> | undefined
  const close = () => (closed ??= ended(queues.close(), clock).then(release))
  return {
    kind,
    queue: (name) => queues.queue(name),
    worker: (name, processor, options) => queues.worker(name, processor, options),
    tokens: (access) => new SharedTokens({ values, clock, access, leaseMs, mask }),
    pauses: ({ identity }) => pausesOn(values, identity),
    workersOf: (name) => workersOf(name, queues),
    checkWritable: () => values.write('ready', '', READY_MS),
    check,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function ended(work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController()
  const late = clock.sleep(CLOSING_MS_MAX, done.signal).catch(() => undefined)
  await Promise.race([work, late])
  done.abort()
}
