/**
 * What the jobs need of a queue store, whichever it is: Redis, PostgreSQL, or the embedded one. Queues and workers come
 * from here and nowhere else, so that one code runs over all three.
 */
import type { Processor, Queue, QueueEvents, Telemetry, Worker, WorkerOptions } from 'bullmq'
import type { TokenStore } from '../../src/client/tokens.ts'
import type { Clock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { Secret } from '../../src/secret.ts'
import type { SharedPauses } from '../../src/client/sharedPauses.ts'

export type StoreKind = 'redis' | 'postgres' | 'embedded'

/** What `check` says of a store: its version, whether it evicts keys, whether it keeps data over a restart. */
export interface StoreFinding {
  readonly state: 'passed' | 'warned' | 'failed'
  readonly what: string
  readonly cure?: string
}

export interface QueueStore extends AsyncDisposable {
  readonly kind: StoreKind
  /** The queue of that name; made once, closed with the store. */
  queue<Data>(name: string): Queue<Data>
  /** Starts a worker; closed with the store unless it was closed before. */
  worker<Data, Result>(
    name: string,
    processor: Processor<Data, Result>,
    options?: Partial<WorkerOptions>,
  ): Worker<Data, Result>
  events(name: string): QueueEvents
  /** One token for all processes on this store, encrypted with a key derived from the client secret. */
  tokens(access: { readonly identity: string; readonly secret: Secret }): TokenStore
  /** A 429 that one process met pauses all of them. */
  pauses(access: { readonly identity: string }): SharedPauses
  /** How many processes work on the queue now. */
  workersOf(name: string): Promise<number>
  check(): Promise<readonly StoreFinding[]>
  close(): Promise<void>
}

export interface OpenOptions {
  /** Of the embedded store: `<warehouse>.queue`. */
  readonly directory: string
  readonly log?: Log | undefined
  readonly clock: Clock
  /**
   * Keeps the queues of several installations on one server apart: the prefix of Redis keys, the schema in PostgreSQL.
   */
  readonly prefix?: string | undefined
  /** How long a process that died while it asked for a token holds the others up. */
  readonly leaseMs?: number | undefined
  /** Carries traces from job to job. */
  readonly telemetry?: Telemetry | undefined
}

/** With the prefix decided. */
export type Opening = OpenOptions & { readonly prefix: string }
