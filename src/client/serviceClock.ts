/**
 * Computes the earliest time that the service's clock can show. The service writes `Date`, in whole seconds, between
 * our request and the arrival of its response: `Date − arrived ≤ offset < Date + 1 s − sent`. The offset is the
 * service's clock minus our monotonic clock. The highest lower bound of all responses is used. A response with an upper
 * bound below it shows that the service's clock was set back: then its lower bound is used.
 */
import type { Clock } from '../clock.ts'
import { fromMillis, type Instant, minusMs, toMillis } from '../instant.ts'
import { CLOCK_GRAIN_MS } from '../plan/window.ts'
import type { RawAnswer } from './transport.ts'

export class ServiceClock {
  readonly #clock: Clock
  #offsetMs: number | undefined
  #answered = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isOurs(): boolean {
    return this.#answered && this.#offsetMs === undefined
  }

  now(): Instant | undefined {
    if (!this.#answered) return undefined
    return this.at(this.#clock.monotonicMs())
  }

  /** Returns the service's time when our monotonic clock showed `monotonicMs`. */
  at(monotonicMs: number): Instant {
    if (this.#offsetMs !== undefined) return fromMillis(monotonicMs + this.#offsetMs)
    return minusMs(this.#clock.now(), this.#clock.monotonicMs() - monotonicMs)
  }

  /** Updates the offset. Returns the Date of the response, or an estimate if the response has no Date. */
  observe({ date, sentMs, arrivedMs }: Pick<RawAnswer, 'date' | 'sentMs' | 'arrivedMs'>): Instant {
    this.#answered = true
    if (date === undefined) return this.#offsetMs === undefined ? this.#clock.now() : this.at(arrivedMs)
    const lowestMs = toMillis(date) - arrivedMs
    const highestMs = toMillis(date) + CLOCK_GRAIN_MS - sentMs
    const wasSetBack = this.#offsetMs !== undefined && this.#offsetMs > highestMs
    this.#offsetMs = wasSetBack ? lowestMs : Math.max(this.#offsetMs ?? lowestMs, lowestMs)
    return date
  }
}
