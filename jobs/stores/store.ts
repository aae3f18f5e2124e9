/** The interface of a queue store: Redis, PostgreSQL, or the embedded one. Only a store creates queues and workers. */
import type { Processor, Queue, Telemetry, Worker, WorkerOptions } from 'bullmq'
import type { TokenStore } from '../../src/client/tokens.ts'
import type { Clock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { Secret } from '../../src/secret.ts'
import type { SharedPauses } from '../../src/client/sharedPauses.ts'

export type StoreKind = 'redis' | 'postgres' | 'embedded'

export interface StoreFinding {
  readonly state: 'passed' | 'warned' | 'failed'
  readonly what: string
  readonly cure?: string
}

export interface QueueStore extends AsyncDisposable {
  readonly kind: StoreKind
  queue<Data>(name: string): Queue<Data>
  worker<Data, Result>(
    name: string,
    processor: Processor<Data, Result>,
    options?: Partial<WorkerOptions>,
  ): Worker<Data, Result>
  /** A key that is derived from the client secret encrypts the shared token. */
  tokens(access: { readonly identity: string; readonly secret: Secret }): TokenStore
  pauses(access: { readonly identity: string }): SharedPauses
  workersOf(name: string): Promise<number>
  checkWritable(): Promise<void>
  check(): Promise<readonly StoreFinding[]>
  close(): Promise<void>
}

export interface OpenOptions {
  readonly directory: string
  readonly log?: Log | undefined
  readonly clock: Clock
  /** Separates installations on one server: the prefix of Redis keys, or the schema in PostgreSQL. */
  readonly prefix?: string | undefined
  readonly leaseMs?: number | undefined
  readonly telemetry?: Telemetry | undefined
}

export type Opening = OpenOptions & { readonly prefix: string }
