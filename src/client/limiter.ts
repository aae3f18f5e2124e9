/**
 * Permits to send: so many at once, so many a second, in the order they were asked for, and none at all while the
 * service wants a pause. Whoever stops waiting leaves the queue.
 */
import type { Clock } from '../clock.ts'
import { assert } from '../errors.ts'
import { reasonOf, throwIfAborted } from './cancellation.ts'

export interface LimiterRules {
  concurrency: number
  requestsPerSecond?: number | undefined
}

/** Held while a request is under way; disposing it lets the next one go. */
export type Permit = Disposable

interface Waiter {
  grant(permit: Permit): void
  refuse(reason: Error): void
}

export class Limiter {
  readonly #clock: Clock
  readonly #concurrency: number
  readonly #spacingMs: number
  readonly #queue: Waiter[] = []
  #held = 0
  /** Monotonic time before which nothing starts: the next slot of the rate, or the end of a pause. */
  #nextStartMs = Number.NEGATIVE_INFINITY
  #alarm: AbortController | undefined

  constructor(rules: LimiterRules, clock: Clock) {
    assert(Number.isInteger(rules.concurrency) && rules.concurrency > 0, 'concurrency must be a positive whole number')
    const { requestsPerSecond } = rules
    assert(requestsPerSecond === undefined || requestsPerSecond > 0, 'requestsPerSecond must be positive')
    this.#clock = clock
    this.#concurrency = rules.concurrency
    this.#spacingMs = requestsPerSecond === undefined ? 0 : 1_000 / requestsPerSecond
  }

  /** Waits for a permit behind everybody who asked before. */
  async acquire(signal: AbortSignal): Promise<Permit> {
    throwIfAborted(signal)
    const { promise, resolve, reject } = Promise.withResolvers<Permit>()
    const waiter: Waiter = { grant: resolve, refuse: reject }
    const leave = () => this.#leave(waiter, reasonOf(signal))
    signal.addEventListener('abort', leave, { once: true })
    this.#queue.push(waiter)
    this.#serve()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Lets nothing start for so long; a longer pause that is already running stays. */
  pause(ms: number): void {
    this.#nextStartMs = Math.max(this.#nextStartMs, this.#clock.monotonicMs() + ms)
  }

  #serve(): void {
    while (this.#queue.length > 0 && this.#held < this.#concurrency) {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs < this.#nextStartMs) return this.#wakeIn(this.#nextStartMs - nowMs)
      if (this.#spacingMs > 0) this.#nextStartMs = nowMs + this.#spacingMs
      this.#held += 1
      this.#queue.shift()?.grant(this.#permit())
    }
  }

  #permit(): Permit {
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        this.#held -= 1
        this.#serve()
      },
    }
  }

  #leave(waiter: Waiter, reason: Error): void {
    const place = this.#queue.indexOf(waiter)
    if (place < 0) return
    this.#queue.splice(place, 1)
    waiter.refuse(reason)
    if (this.#queue.length === 0) this.#silence()
  }

  /** A sleep and not a bare timer: while somebody waits for a permit the process must stay alive. */
  #wakeIn(ms: number): void {
    if (this.#alarm !== undefined) return
    const alarm = new AbortController()
    this.#alarm = alarm
    const wake = () => {
      if (this.#alarm !== alarm) return
      this.#alarm = undefined
      this.#serve()
    }
    this.#clock.sleep(ms, alarm.signal).then(wake, wake)
  }

  #silence(): void {
    const alarm = this.#alarm
    this.#alarm = undefined
    alarm?.abort()
  }
}
