/**
 * Pauses that all processes share: after a 429 or a Retry-After to one process, all of them wait. Each request checks the
 * shared pause before it is sent, at most one check in 250 ms goes to the store. Without an answer from the store, each
 * process keeps only its own pauses.
 */
import type { Clock } from '../clock.ts'

/** The store of the shared pause. */
export interface SharedPauses {
  /** All processes pause for `ms` milliseconds from now. A longer pause that is already stored stays. */
  pause(ms: number): Promise<void>
  /** Returns the rest of the stored pause in milliseconds; 0 without one. */
  remainingMs(): Promise<number>
}

/** How old a check may be, and so how long other processes continue after a 429. */
const CHECK_EVERY_MS = 250
/** How long a request waits for the store: requests must not depend on a store that does not answer. */
const CHECK_MS_MAX = 500

export class PauseWatch {
  readonly #pauses: SharedPauses | undefined
  readonly #clock: Clock
  #checkedMs = Number.NEGATIVE_INFINITY
  #checking: Promise<number> | undefined

  constructor(pauses: SharedPauses | undefined, clock: Clock) {
    this.#pauses = pauses
    this.#clock = clock
  }

  /** Stores a pause for the other processes. Never throws. */
  share(ms: number): void {
    this.#pauses?.pause(ms).catch(() => undefined)
  }

  /** Returns the rest of the shared pause in milliseconds; 0 when the store was checked a moment ago. */
  async remainingMs(): Promise<number> {
    const pauses = this.#pauses
    if (pauses === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    if (this.#checking === undefined && nowMs - this.#checkedMs < CHECK_EVERY_MS) return 0
    return await (this.#checking ??= this.#check(pauses))
  }

  async #check(pauses: SharedPauses): Promise<number> {
    const late = Promise.withResolvers<number>()
    const cancel = this.#clock.after(CHECK_MS_MAX, () => late.resolve(0))
    try {
      return await Promise.race([pauses.remainingMs().catch(() => 0), late.promise])
    } finally {
      cancel()
      this.#checkedMs = this.#clock.monotonicMs()
      this.#checking = undefined
    }
  }
}
