/** The messages between the soak of a year and the process that it measures. */
import type { WorldReport } from '../../../src/sandbox/server.ts'

/** What happens in one tick: the clock passes, then these runs and the work between runs are done. */
export interface TickOrder {
  readonly passMs: number
  readonly incremental: readonly WorldReport[]
  readonly reconcile: readonly WorldReport[]
  readonly backfill: WorldReport | undefined
  /** True if the tick also publishes, makes a checkpoint and removes old jobs, files and entries. */
  readonly isTidied: boolean
  /** True if the process measures itself after the tick. */
  readonly isSampled: boolean
}

export interface TickResult {
  readonly sample: Sample | undefined
  /** Codes of runs that failed. Example: `events incremental TIMEOUT`. */
  readonly failures: readonly string[]
}

/** OwnerAccess values by name. Example: `{ 'warehouse bytes': 4206592, 'tidemark.runs': 1420 }`. */
export type Sample = Readonly<Record<string, number>>
