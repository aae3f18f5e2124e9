/**
 * Computes the earliest time that the service's clock can show. The service writes `Date`, in whole seconds, after we
 * send a request and before we receive the response. So each response bounds `offset`, the service's clock minus our
 * monotonic clock: `Date − arrived ≤ offset < Date + 1 s − sent`. We use the highest lower bound so far. If a
 * response's upper bound is below it, the service's clock was set back. Then we use that response's lower bound.
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

  /** Returns the service's time or a little earlier (our time if it sends no Date). Undefined before any response. */
  now(): Instant | undefined {
    if (!this.#answered) return undefined
    return this.at(this.#clock.monotonicMs())
  }

  /** Returns the time that `now()` would have returned when our monotonic clock showed `monotonicMs`. */
  at(monotonicMs: number): Instant {
    if (this.#offsetMs !== undefined) return fromMillis(monotonicMs + this.#offsetMs)
    return minusMs(this.#clock.now(), this.#clock.monotonicMs() - monotonicMs)
  }

  /** Records a response. Returns its Date or, if it has none, an estimate from earlier Dates or this machine's time. */
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
