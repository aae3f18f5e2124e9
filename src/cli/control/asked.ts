/** What both ways to the worker share: how it is listened to, and how its loss is told. */
import type { Clock } from '../../clock.ts'
import { SyncError } from '../../errors.ts'

/** What happens while the worker is at it. */
export type OnEvent = (event: Readonly<Record<string, unknown>>) => void

/** How an answer is waited for. */
export interface Asking {
  readonly onEvent: OnEvent
  readonly clock: Clock
  readonly signal: AbortSignal
}

export const lost = (what: string): SyncError =>
  new SyncError('WORKER_LOST', `the worker that owns the warehouse ${what}`, {
    cure: 'Look at its log, or restart it: what was asked for goes on when it is back. "tidemark status" shows where it is.',
  })
