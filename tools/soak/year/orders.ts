/** The messages between the soak of a year and the process that it measures. */
import type { WorldReport } from '../../../src/sandbox/server.ts'

/** The clock passes, then these runs and the other work are done. */
export interface TickOrder {
  readonly passMs: number
  readonly incremental: readonly WorldReport[]
  readonly reconcile: readonly WorldReport[]
  readonly backfill: WorldReport | undefined
  /** Whether the tick also publishes and cleans up. */
  readonly isTidied: boolean
  /** Whether the process measures itself after the tick. */
  readonly isSampled: boolean
}

export interface TickResult {
  readonly sample: Sample | undefined
  /** Example: `events incremental TIMEOUT`. */
  readonly failures: readonly string[]
}

/** Example: `{ 'warehouse bytes': 4206592, 'tidemark.runs': 1420 }`. */
export type Sample = Readonly<Record<string, number>>
