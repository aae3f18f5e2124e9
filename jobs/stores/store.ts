/** A queue store: Redis, PostgreSQL or the embedded store. */
import type { BackendFactory, ConnectionOptions, Processor, RedisQueueBackend, Telemetry, WorkerOptions } from 'bullmq'
import { Queue, Worker } from 'bullmq'
import { type Clock, within } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import type { Log } from '../../src/log.ts'
import type { Secret } from '../../src/secret.ts'
import { messageOf, type ProblemLog, unfitError } from './problemLog.ts'
import { sharedPauses, sharedTokens, type LeaseRequest, type SharedValues, withLease } from './sharedTokens.ts'

export type StoreKind = 'redis' | 'postgres' | 'embedded'

export interface StoreFinding {
  readonly state: 'passed' | 'warned' | 'failed'
  readonly what: string
  readonly cure?: string
}

export interface OpenOptions {
  readonly directory: string
  readonly log?: Log | undefined
  readonly clock: Clock
  /** The beginning of all names in the store. Installations with different prefixes can share a server. */
  readonly prefix?: string | undefined
  readonly leaseMs?: number | undefined
  /** Redis only: how long a call waits for an answer. */
  readonly answerMs?: number
  readonly telemetry?: Telemetry | undefined
}

export type Opening = OpenOptions & { readonly prefix: string }

interface StoreOptions {
  readonly kind: StoreKind
  readonly shown: string
  readonly backend: BackendFactory<RedisQueueBackend>
  /** Redis only: the connection for adding jobs. Calls fail quickly while Redis is unreachable. */
  readonly asking?: ConnectionOptions
  /** Redis only: the connection for taking jobs. Calls wait until Redis is reachable. */
  readonly waiting?: ConnectionOptions
  readonly workerOptions?: Partial<WorkerOptions>
  /** A queue keeps at most this many completed jobs and this many failed jobs. */
  readonly endedMax?: number
  readonly isConnected?: () => boolean
  readonly problems: ProblemLog
  readonly values: SharedValues
  readonly check: () => Promise<readonly StoreFinding[]>
  /** Counts the queue's workers in all processes. `here` is the number of its workers in this process. */
  readonly workersOf: (queue: Queue, here: number) => Promise<number>
  readonly release: () => Promise<void>
}

const DAY_S = 24 * 3_600

/**
 * The job of a dead worker runs again within the sum of both times, or later if a store sets a longer `stalledInterval`.
 * A worker whose event loop is blocked for more than half of `lockDuration` can lose its job.
 */
export const LOCKS = { lockDuration: 15_000, stalledInterval: 5_000 }

const RETRY_OPTIONS = {
  runRetryDelay: 2_000,
  // BullMQ counts how often the worker of a job has died, and fails the job if the count exceeds this number.
  maxStalledCount: 1_000_000,
}

/** The errors of these methods are converted to SyncErrors. */
const QUEUE_CALLS = [
  'add',
  'getActive',
  'getDelayed',
  'getJob',
  'getJobCounts',
  'getJobs',
  'getJobSchedulers',
  'getJobState',
] as const satisfies readonly (keyof Queue)[]

const CLOSING_MS_MAX = 4_000

const READY_MS = 60_000

export type QueueStore = ReturnType<typeof composeStore>

export function composeStore({ clock, prefix, leaseMs, telemetry }: Opening, store: StoreOptions) {
  const { kind, shown, backend, workerOptions, endedMax, isConnected, problems, check } = store
  const queues = new Map<string, Queue>()
  const workers = new Set<Worker>()
  const base = (connection: ConnectionOptions = {}) => ({ connection, prefix, ...(telemetry && { telemetry }) })
  const toError = (error: unknown) => (error instanceof SyncError ? error : temporaryError(shown, problems, error))
  const values = mapErrors(store.values, ['read', 'write', 'claim', 'renew', 'remove'], toError)
  const most = endedMax === undefined ? {} : { count: endedMax }
  const retention = { removeOnComplete: { age: DAY_S, ...most }, removeOnFail: { age: 7 * DAY_S, ...most } }

  const queue = <Data>(name: string): Queue<Data> => {
    const known = queues.get(name)
    if (known !== undefined) return known as Queue<Data>
    const created = new Queue(name, { ...base(store.asking), defaultJobOptions: retention }, backend)
    created.on('error', problems.log)
    queues.set(name, mapErrors(created, QUEUE_CALLS, toError))
    return created as Queue<Data>
  }

  const worker = <Data, Result>(
    name: string,
    processor: Processor<Data, Result>,
    options: Partial<WorkerOptions> = {},
  ): Worker<Data, Result> => {
    const ours = { ...base(store.waiting), ...LOCKS, ...RETRY_OPTIONS, ...workerOptions }
    const created = new Worker<Data, Result>(name, processor, { ...ours, ...options }, backend)
    created.on('error', problems.log)
    // Without `force`, `close` would wait for a store that cannot be reached.
    const close = created.close.bind(created)
    created.close = (force = isConnected?.() === false) => close(force)
    // Cancels jobs whose locks were lost, because another process may already run them.
    created.on('lockRenewalFailed', (ids) => ids.forEach((id) => created.cancelJob(id, 'the lock of the job was lost')))
    const kept = created as Worker
    workers.add(kept)
    created.on('closed', () => workers.delete(kept))
    return created
  }

  const closeAll = async () => {
    await Promise.allSettled([...workers].map((each) => each.close()))
    await Promise.allSettled([...queues.values()].map((each) => each.close()))
  }
  let closed: Promise<void> | undefined
  const close = () => (closed ??= within(CLOSING_MS_MAX, clock, closeAll).then(store.release))

  return {
    kind,
    shown,
    queue,
    worker,
    tokens: (access: { readonly identity: string; readonly secret: Secret }) =>
      sharedTokens({ values, clock, access, leaseMs }),
    values,
    lease: <T>(request: LeaseRequest, work: (lost: AbortSignal) => Promise<T>) =>
      withLease({ values, clock }, request, work),
    pauses: ({ identity }: { readonly identity: string }) => sharedPauses(values, identity),
    workersOf: (name: string): Promise<number> => {
      const here = [...workers].filter((each) => each.name === name && each.closing === undefined).length
      return store.workersOf(queue(name), here).catch((error: unknown) => Promise.reject(toError(error)))
    },
    checkWritable: () => values.write('ready', '', READY_MS),
    check,
    close,
    [Symbol.asyncDispose]: close,
  }
}

const temporaryError = (shown: string, { mask }: ProblemLog, error: unknown): SyncError =>
  new SyncError('QUEUE_UNREACHABLE', `the queue store ${shown} has trouble: ${mask(messageOf(error))}`, {
    cure: 'Check that the store runs, has free space and accepts writes. The worker then continues by itself.',
  })

function mapErrors<T extends object>(target: T, calls: readonly (keyof T)[], toError: (error: unknown) => Error): T {
  for (const call of calls) {
    const method = (target[call] as (...args: unknown[]) => Promise<unknown>).bind(target)
    const converting = (...args: unknown[]) => method(...args).catch((error: unknown) => Promise.reject(toError(error)))
    Object.assign(target, { [call]: converting })
  }
  return target
}

export function refuseUnfit(shown: string, findings: readonly StoreFinding[]): void {
  const failed = findings.find(({ state }) => state === 'failed')
  if (failed !== undefined) throw unfitError(shown, failed.what, failed.cure ?? '')
}

interface KnownVersions {
  readonly product: string
  readonly min: number
  readonly advised: number
}

export function versionFinding(what: string, version: string, { product, min, advised }: KnownVersions): StoreFinding {
  const number = Number.parseFloat(version)
  if (number >= advised) return { state: 'passed', what }
  const cure = `Use ${product} ${advised} or newer.`
  if (number < min) return { state: 'failed', what: `${what} is too old`, cure }
  return { state: 'warned', what: Number.isNaN(number) ? what : `${what} is old`, cure }
}
