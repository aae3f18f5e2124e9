/**
 * How many requests may be under way at once, learnt from how the service takes them: it begins low, grows with every
 * good answer, is halved when the service is strained, and then grows slowly again. Pure, and so tested without a
 * clock.
 */
import { assert } from '../errors.ts'

/** Enough for a walk and a token; a service that is slow to start up is not met with a full load. */
const START = 2

/** Of one request: when it was let through, by the count of halvings. */
export type Era = number

export class Allowance {
  readonly #max: number
  #allowed: number
  /** Below it every good answer adds one, above it every round of good answers does. */
  #careFrom: number
  #era: Era = 0

  constructor(max: number) {
    assert(Number.isInteger(max) && max > 0, 'concurrency must be a positive whole number')
    this.#max = max
    this.#careFrom = max
    this.#allowed = Math.min(START, max)
  }

  get permits(): number {
    return Math.floor(this.#allowed)
  }

  get era(): Era {
    return this.#era
  }

  /** A good answer. It proves nothing about more at once unless as many as allowed were under way. */
  answered(wasFull: boolean): void {
    if (!wasFull) return
    const step = this.#allowed < this.#careFrom ? 1 : 1 / this.#allowed
    this.#allowed = Math.min(this.#max, this.#allowed + step)
  }

  /** Too much for the service. All requests of one moment meet the same trouble, so they halve once together. */
  strained(letThroughIn: Era): void {
    if (letThroughIn !== this.#era) return
    this.#era += 1
    this.#allowed = Math.max(1, this.#allowed / 2)
    this.#careFrom = this.#allowed
  }
}
