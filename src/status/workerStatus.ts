/** What the worker says of itself: fresher than any file, since nobody else can read the warehouse while it runs. */
import type { NextTick } from '../../jobs/queue/requests.ts'
import type { Instant } from '../instant.ts'
import type { Standing } from './standing.ts'

export interface WorkerStatus {
  readonly standings: readonly Standing[]
  readonly running: readonly RunningRun[]
  readonly waiting: readonly { readonly id: string; readonly report: string; readonly kind: string }[]
  readonly queues: Readonly<Record<string, QueueDepth>>
  /** Where the console of that worker listens. */
  readonly console?: string
  /** When the schedule asks for what. */
  readonly next: readonly NextTick[]
}

interface RunningRun {
  readonly runId: string
  readonly report: string
  readonly kind: string
  readonly startedAt: Instant
  readonly progress?: { readonly pages: number; readonly rows: number }
}

interface QueueDepth {
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
}
