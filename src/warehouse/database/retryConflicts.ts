/** Repeats a transaction of a shared database after a conflict, so that its changes are based on rows just read. */
import { systemClock } from '../../clock.ts'
import { asSyncError, SyncError } from '../../errors.ts'

const TRIES_MAX = 40
const WAIT_MS_MIN = 20
const WAIT_MS_MAX = 1_000

/** Messages of DuckLake when another commit was first, and of SQLite when another process was writing. */
const CONFLICT = /Exceeded the maximum retry count|database is locked|could not serialize|Transaction conflict/

/** Runs `work`, and repeats it after a conflict with another commit. Throws LAKE_BUSY after `triesMax` conflicts. */
export async function repeatConflicts<T>(work: () => Promise<T>, name: string, triesMax = TRIES_MAX): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const known = asSyncError(error)
      if (!CONFLICT.test(known.message)) throw error
      if (tries >= triesMax) throw busy(name, { tries, cause: error })
      const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** Math.min(tries, 6))
      await systemClock.sleep(waitMs * (0.5 + systemClock.random()))
    }
  }
}

const busy = (name: string, { tries, cause }: { tries: number; cause: unknown }): SyncError =>
  new SyncError('LAKE_BUSY', `${name}: other loaders committed first, ${tries} times`, {
    cure: 'Nothing of this load was kept; the next run reads it again. Let fewer processes load into this lake, or less often.',
    cause,
  })
