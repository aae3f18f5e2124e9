/** The error of a caller whose worker does not answer any more. */
import { SyncError } from '../errors.ts'

/** `what` completes the sentence "the worker that owns the warehouse …". */
export const workerLost = (what: string): SyncError =>
  new SyncError('WORKER_LOST', `the worker that owns the warehouse ${what}`, {
    cure: 'Look at its log, or restart it: what was asked for goes on when it is back. "tidemark status" shows where it is.',
  })
