/**
 * Keeps a long pause that the service has requested (Retry-After) in a file next to the warehouse. Otherwise commands
 * that cron starts every few minutes would ignore the pause. Workers keep pauses in the queue's store.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { nameOf } from '../../jobs/stores/seal.ts'
import { DEFAULT_LIMITS } from '../client/limits.ts'
import type { SharedPauses } from '../client/sharedPauses.ts'
import type { Clock } from '../clock.ts'
import { fromMillis, millisBetween, plusMs, toMillis } from '../instant.ts'

const pauseFileOf = (warehouse: string): string => `${warehouse}.pause.json`

const Kept = z.object({
  /** Digest of the service and the client to which the pause applies. */
  of: z.string(),
  /** Start of the pause in milliseconds since 1970, on this machine's clock. */
  fromMs: z.number(),
  untilMs: z.number(),
})

/** Returns the pauses for this service and client (`identity`). A pause for another one is ignored. */
export function pausesBeside(warehouse: string, identity: string, clock: Pick<Clock, 'now'>): SharedPauses {
  const file = pauseFileOf(warehouse)
  const of = nameOf(identity)
  const remainingMs = async (): Promise<number> => {
    const kept = Kept.safeParse(JSON.parse(await readFile(file, 'utf8')))
    if (!kept.success || kept.data.of !== of) return 0
    const { fromMs, untilMs } = kept.data
    const now = clock.now()
    // The clock was set back after the pause began. The remaining time is unknown, so the pause is ignored.
    return now < fromMillis(fromMs) ? 0 : Math.max(0, millisBetween(now, fromMillis(untilMs)))
  }
  return {
    remainingMs,
    pause: async (ms) => {
      // A short pause is not stored: the run that received it waits until it ends.
      if (ms <= DEFAULT_LIMITS.retryAfterMsMax) return
      if ((await remainingMs().catch(() => 0)) >= ms) return
      const now = clock.now()
      const kept: z.infer<typeof Kept> = { of, fromMs: toMillis(now), untilMs: toMillis(plusMs(now, ms)) }
      await writeFile(`${file}.new`, JSON.stringify(kept))
      await rename(`${file}.new`, file)
    },
  }
}
