/** Shares pauses after a 429 or a Retry-After through a store. If the store fails, requests are sent without it. */
import { type Clock, within } from '../clock.ts'

export interface SharedPauses {
  /** Stores a pause that begins now and lasts `ms` milliseconds. Does not shorten a longer stored pause. */
  pause(ms: number): Promise<void>
  remainingMs(): Promise<number>
}

/** The store is read at most once in this time. A pause of another process takes effect at most this much later. */
const CHECK_EVERY_MS = 250
/** A request waits this long for the store, and is then sent without the store's answer. */
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

  /** Stores a pause for the other processes, and ignores errors of the store. */
  share(ms: number): void {
    this.#pauses?.pause(ms).catch(() => undefined)
  }

  /**
   * Returns the milliseconds until the shared pause ends. Returns 0 without reading the store if it was read less than
   * 250 ms ago.
   */
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
