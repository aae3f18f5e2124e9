/** Counts wrong tokens. Above the limit, the response to a wrong token is the time to wait. A right token passes. */
import type { Clock } from '../../clock.ts'
import { MINUTE_MS } from '../../instant.ts'

const GUESSES_PER_ADDRESS_MAX = 10
const GUESSES_TOTAL_MAX = 100
const COUNT_MS = MINUTE_MS
/** Maximum number of addresses that are counted separately. All other addresses share one count. */
const ADDRESSES_MAX = 10_000

interface GuessCount {
  wrong: number
  readonly untilMs: number
}

export class Guesses {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #byAddress = new Map<string, GuessCount>()
  #all: GuessCount = { wrong: 0, untilMs: 0 }

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Returns how many milliseconds this address must wait; 0 below the limit. */
  waitMs(address: string): number {
    const now = this.#clock.monotonicMs()
    const own = this.#byAddress.get(address)
    return Math.max(restMs(own, GUESSES_PER_ADDRESS_MAX, now), restMs(this.#all, GUESSES_TOTAL_MAX, now))
  }

  wrong(address: string): void {
    const now = this.#clock.monotonicMs()
    if (this.#all.untilMs <= now) {
      this.#all = { wrong: 0, untilMs: now + COUNT_MS }
      for (const [each, { untilMs }] of this.#byAddress) if (untilMs <= now) this.#byAddress.delete(each)
    }
    this.#all.wrong += 1
    const known = this.#byAddress.get(address)
    if (known !== undefined && known.untilMs > now) known.wrong += 1
    else if (this.#byAddress.size < ADDRESSES_MAX) this.#byAddress.set(address, { wrong: 1, untilMs: now + COUNT_MS })
  }
}

const restMs = (counted: GuessCount | undefined, max: number, now: number): number =>
  counted === undefined || counted.wrong < max ? 0 : Math.max(0, counted.untilMs - now)
