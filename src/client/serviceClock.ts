/**
 * Computes a lower bound of the service's clock. The service writes `Date`, in whole seconds, between the request and
 * the response. So each response bounds the difference of the service's clock and our monotonic clock (`offset`): `Date
 * − arrived ≤ offset < Date + 1 s − sent`. The highest lower bound is kept. If it is above the upper bound of a later
 * response, the service's clock was set back, and the lower bound of that response replaces it.
 */
import type { Clock } from '../clock.ts'
import { fromMillis, type Instant, minusMs, toMillis } from '../instant.ts'
import { CLOCK_GRAIN_MS } from '../plan/window.ts'

export interface Observation {
  date: Instant | undefined
  /** Times on our monotonic clock at which the request was sent and the head of the response arrived. */
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

  /** Returns the lower bound; our time if no response had a Date header; undefined before any response. */
  now(): Instant | undefined {
    if (!this.#answered) return undefined
    return this.at(this.#clock.monotonicMs())
  }

  /** Returns the lower bound at a monotonic time. If no response had a Date header, returns our time instead. */
  at(monotonicMs: number): Instant {
    if (this.#offsetMs !== undefined) return fromMillis(monotonicMs + this.#offsetMs)
    return minusMs(this.#clock.now(), this.#clock.monotonicMs() - monotonicMs)
  }

  /** Records a response and returns its Date. Without a Date, returns the lower bound or, before any Date, our time. */
  observe({ date, sentMs, arrivedMs }: Observation): Instant {
    this.#answered = true
    if (date === undefined) return this.#offsetMs === undefined ? this.#clock.now() : this.at(arrivedMs)
    const lowestMs = toMillis(date) - arrivedMs
    const highestMs = toMillis(date) + CLOCK_GRAIN_MS - sentMs
    const wasSetBack = this.#offsetMs !== undefined && this.#offsetMs > highestMs
    this.#offsetMs = wasSetBack ? lowestMs : Math.max(this.#offsetMs ?? lowestMs, lowestMs)
    return date
  }
}
