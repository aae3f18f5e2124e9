/**
 * A lower bound of the service's clock. The service writes `Date` after we send a request and before we get `Date`, in
 * whole seconds rounded down. So each response bounds the offset between the service's clock and our monotonic clock:
 *
 *   Date − arrived  ≤  offset  <  Date + 1 s − sent
 *
 * The highest lower bound is kept, so a late response never lowers it. If a later response's upper bound is below the
 * kept bound, the service's clock was set back (or our monotonic clock drifted), and that response's lower bound
 * replaces the kept one. Changes of our wall clock have no effect, because monotonic time does not follow it.
 */
import type { Clock } from '../clock.ts'
import { fromMillis, type Instant, minusMs, toMillis } from '../instant.ts'

/** The Date header has whole seconds. */
const DATE_RESOLUTION_MS = 1_000

export interface Observation {
  /** The Date header; undefined if the response has none. */
  date: Instant | undefined
  /** When the request was sent, and when the response's head arrived, by our monotonic clock. */
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

  /** True if there were responses, but none with a Date header. */
  get isOurs(): boolean {
    return this.#answered && this.#offsetMs === undefined
  }

  /** Returns the lower bound; our clock if no response had a Date header; undefined before any response. */
  now(): Instant | undefined {
    if (!this.#answered) return undefined
    return this.at(this.#clock.monotonicMs())
  }

  /** Returns the lower bound at a monotonic time, or our clock at that time if no response had a Date header. */
  at(monotonicMs: number): Instant {
    if (this.#offsetMs !== undefined) return fromMillis(monotonicMs + this.#offsetMs)
    return minusMs(this.#clock.now(), this.#clock.monotonicMs() - monotonicMs)
  }

  /** Records a response. Returns its Date; without the header, the lower bound or, before any Date, our clock. */
  observe({ date, sentMs, arrivedMs }: Observation): Instant {
    this.#answered = true
    if (date === undefined) return this.#offsetMs === undefined ? this.#clock.now() : this.at(arrivedMs)
    const lowestMs = toMillis(date) - arrivedMs
    const highestMs = toMillis(date) + DATE_RESOLUTION_MS - sentMs
    const wasSetBack = this.#offsetMs !== undefined && this.#offsetMs > highestMs
    this.#offsetMs = wasSetBack ? lowestMs : Math.max(this.#offsetMs ?? lowestMs, lowestMs)
    return date
  }
}
