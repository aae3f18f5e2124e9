/**
 * Pauses that all processes share: after one process received a 429 or a Retry-After, all of them wait. Each request
 * checks the shared pause, but the store is read at most once in 250 ms. While the store does not respond, each process
 * has only its own pauses.
 */
import { type Clock, within } from '../clock.ts'

/** Where the shared pause is stored. */
export interface SharedPauses {
  /** Stores a pause of `ms` milliseconds from now. A longer pause that is already stored stays. */
  pause(ms: number): Promise<void>
  /** Returns the milliseconds that are left of the stored pause; 0 without one. */
  remainingMs(): Promise<number>
}

/** A check is reused for this long, so other processes may send requests for this long after a 429. */
const CHECK_EVERY_MS = 250
/** How long a request waits for the store. A store that does not respond must not stop requests. */
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

  /** Returns the milliseconds left of the shared pause; 0 when the store was read less than `CHECK_EVERY_MS` ago. */
  async remainingMs(): Promise<number> {
    const pauses = this.#pauses
    if (pauses === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    if (this.#checking === undefined && nowMs - this.#checkedMs < CHECK_EVERY_MS) return 0
    return await (this.#checking ??= this.#check(pauses))
  }

  async #check(pauses: SharedPauses): Promise<number> {
    const remainingMs = await within(CHECK_MS_MAX, this.#clock, () => pauses.remainingMs().catch(() => 0))
    this.#checkedMs = this.#clock.monotonicMs()
    this.#checking = undefined
    return remainingMs ?? 0
  }
}
