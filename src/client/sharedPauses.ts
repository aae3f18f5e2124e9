/**
 * Pauses that the service asked one process for (429, Retry-After) and that all of them keep. Every request looks at
 * the shared pause before it is sent, and most of these looks cost nothing: one answer serves all of them for a quarter
 * of a second. When the place of the pauses is away, each process still keeps those it was asked for itself.
 */
import type { Clock } from '../clock.ts'

/** Where several processes tell each other that the service asked for a pause. */
export interface SharedPauses {
  /** Everybody waits for so long from now, unless they wait longer already. */
  pause(ms: number): Promise<void>
  /** What is left of a pause that anybody asked for; 0 without one. */
  remainingMs(): Promise<number>
}

/** How old an answer may be: so long at most other processes go on after a 429. */
const LOOK_EVERY_MS = 250
/** A store that does not answer must not slow down requests that it has no say in. */
const LOOK_MS_MAX = 500

export class PauseWatch {
  readonly #pauses: SharedPauses | undefined
  readonly #clock: Clock
  #lookedMs = Number.NEGATIVE_INFINITY
  #looking: Promise<number> | undefined

  constructor(pauses: SharedPauses | undefined, clock: Clock) {
    this.#pauses = pauses
    this.#clock = clock
  }

  /** Tells the others; never fails. */
  tell(ms: number): void {
    this.#pauses?.pause(ms).catch(() => undefined)
  }

  /** What is left of a pause of others, as far as it is news: 0 when it was looked up a moment ago. */
  async newsMs(): Promise<number> {
    const pauses = this.#pauses
    if (pauses === undefined) return 0
    const nowMs = this.#clock.monotonicMs()
    if (this.#looking === undefined && nowMs - this.#lookedMs < LOOK_EVERY_MS) return 0
    return await (this.#looking ??= this.#look(pauses))
  }

  async #look(pauses: SharedPauses): Promise<number> {
    const late = Promise.withResolvers<number>()
    const callOff = this.#clock.after(LOOK_MS_MAX, () => late.resolve(0))
    try {
      return await Promise.race([pauses.remainingMs().catch(() => 0), late.promise])
    } finally {
      callOff()
      this.#lookedMs = this.#clock.monotonicMs()
      this.#looking = undefined
    }
  }
}
