/** The error for a caller whose worker no longer responds. */
import { SyncError } from '../errors.ts'

/** Returns the error. `what` completes its message "the worker that owns the warehouse …". */
export const workerLost = (what: string): SyncError =>
  new SyncError('WORKER_LOST', `the worker that owns the warehouse ${what}`, {
    cure: 'Look at its log, or restart it: what was asked for goes on when it is back. "tidemark status" shows where it is.',
  })
