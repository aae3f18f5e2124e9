/**
 * A long pause that the service asked for, kept in a file beside the warehouse: commands that cron starts every few
 * minutes know nothing of each other, and each would ask again. Workers keep their pauses in the queue's store.
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
  /** Whose pause it is: of one service and client. */
  of: z.string(),
  /** Milliseconds since 1970, on this machine's clock. */
  fromMs: z.number(),
  untilMs: z.number(),
})

/** `identity` is that of the service and client: another one is not held up. */
export function pausesBeside(warehouse: string, identity: string, clock: Pick<Clock, 'now'>): SharedPauses {
  const file = pauseFileOf(warehouse)
  const of = nameOf(identity)
  const remainingMs = async (): Promise<number> => {
    const kept = Kept.safeParse(JSON.parse(await readFile(file, 'utf8')))
    if (!kept.success || kept.data.of !== of) return 0
    const { fromMs, untilMs } = kept.data
    const now = clock.now()
    // From the future: the clock was set back since, and what is left of it can't be told.
    return now < fromMillis(fromMs) ? 0 : Math.max(0, millisBetween(now, fromMillis(untilMs)))
  }
  return {
    remainingMs,
    pause: async (ms) => {
      // A run waits for the end of a shorter one itself.
      if (ms <= DEFAULT_LIMITS.retryAfterMsMax) return
      if ((await remainingMs().catch(() => 0)) >= ms) return
      const now = clock.now()
      const kept: z.infer<typeof Kept> = { of, fromMs: toMillis(now), untilMs: toMillis(plusMs(now, ms)) }
      await writeFile(`${file}.new`, JSON.stringify(kept))
      await rename(`${file}.new`, file)
    },
  }
}
