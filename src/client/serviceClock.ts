/**
 * What the service's clock reads at least, right now. A `Date` header was written between our sending and its arrival,
 * in whole seconds cut down, so one answer bounds the offset between their clock and our monotonic one from both sides:
 *
 * Date − arrived  ≤  offset  <  Date + 1 s − sent
 *
 * The highest lower bound seen is kept, so an old answer that arrives late never takes it back. It is given up only
 * when a later answer's upper bound lies below it: then the service's clock really was set back (or our monotonic clock
 * drifted), and that answer's own lower bound is followed from there. Monotonic time makes jumps of our wall clock
 * harmless.
 */
import type { Clock } from '../clock.ts'
import { fromMillis, type Instant, toMillis } from '../instant.ts'

/** The Date header cuts fractions off. */
const DATE_RESOLUTION_MS = 1_000

export interface Observation {
  /** The Date header; undefined when the answer had none. */
  date: Instant | undefined
  /** Monotonic times of the request's start and of the arrival of the answer's head. */
  sentMs: number
  arrivedMs: number
}

export class ServiceClock {
  readonly #clock: Clock
  #offsetMs: number | undefined
  #answered = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True once answers came but none of them had a Date header. */
  get isOurs(): boolean {
    return this.#answered && this.#offsetMs === undefined
  }

  /** A lower bound of the service's clock; our own clock where no answer told; undefined before any answer. */
  now(): Instant | undefined {
    if (!this.#answered) return undefined
    return this.#offsetMs === undefined ? this.#clock.now() : this.#at(this.#clock.monotonicMs())
  }

  /** Takes note of an answer and gives the time it was served at. */
  observe({ date, sentMs, arrivedMs }: Observation): Instant {
    this.#answered = true
    if (date === undefined) return this.#offsetMs === undefined ? this.#clock.now() : this.#at(arrivedMs)
    const lowestMs = toMillis(date) - arrivedMs
    const highestMs = toMillis(date) + DATE_RESOLUTION_MS - sentMs
    const wasSetBack = this.#offsetMs !== undefined && this.#offsetMs > highestMs
    this.#offsetMs = wasSetBack ? lowestMs : Math.max(this.#offsetMs ?? lowestMs, lowestMs)
    return date
  }

  #at(monotonicMs: number): Instant {
    return fromMillis(monotonicMs + (this.#offsetMs ?? 0))
  }
}
