/**
 * Permits to send: as many at once as the service has shown to bear, so many a second, in the order they were asked for
 * within a priority, and none at all while the service wants a pause. Whoever stops waiting leaves the line.
 */
import type { Clock } from '../clock.ts'
import { assert } from '../errors.ts'
import { Allowance } from './allowance.ts'
import { reasonOf, throwIfAborted } from './cancellation.ts'
import { inLongPause } from './retry.ts'
import { type Priority, WaitingLine } from './waitingLine.ts'

export type { Priority } from './waitingLine.ts'

export interface LimiterRules {
  /** At most so many at once; how many of them are given out is learnt. */
  concurrency: number
  requestsPerSecond?: number | undefined
  /** Nobody waits for the end of a longer pause: they are refused, and told when it ends. */
  pauseMsMax?: number | undefined
}

/** Held while a request is under way; disposing it lets the next one go. Without a word it teaches nothing. */
export interface Permit extends Disposable {
  /** The service took it well: more may be under way at once. */
  answered(): void
  /** It was too much for the service (429, 5xx, a timeout): fewer may be. */
  strained(): void
}

interface Waiter {
  grant(permit: Permit): void
  refuse(reason: Error): void
}

export class Limiter {
  readonly #clock: Clock
  readonly #allowance: Allowance
  readonly #spacingMs: number
  readonly #pauseMsMax: number
  readonly #line = new WaitingLine<Waiter>()
  #held = 0
  /** Monotonic time before which nothing starts: the next slot of the rate, or the end of a pause. */
  #nextStartMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  #alarm: AbortController | undefined

  constructor(rules: LimiterRules, clock: Clock) {
    const { requestsPerSecond, pauseMsMax = Number.POSITIVE_INFINITY } = rules
    assert(requestsPerSecond === undefined || requestsPerSecond > 0, 'requestsPerSecond must be positive')
    this.#clock = clock
    this.#pauseMsMax = pauseMsMax
    this.#allowance = new Allowance(rules.concurrency)
    this.#spacingMs = requestsPerSecond === undefined ? 0 : 1_000 / requestsPerSecond
  }

  /** Waits for a permit behind everybody of the same priority who asked before. */
  async acquire(
    signal: AbortSignal,
    { priority = 'first' }: { priority?: Priority | undefined } = {},
  ): Promise<Permit> {
    throwIfAborted(signal)
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
    const { promise, resolve, reject } = Promise.withResolvers<Permit>()
    const waiter: Waiter = { grant: resolve, refuse: reject }
    const leave = () => this.#leave(waiter, reasonOf(signal))
    signal.addEventListener('abort', leave, { once: true })
    this.#line.join(waiter, priority)
    this.#serve()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Lets nothing start for so long; a longer pause that is already running stays. */
  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonicMs() + ms)
    this.#nextStartMs = Math.max(this.#nextStartMs, this.#pausedUntilMs)
    const refusal = this.#refusal()
    if (refusal === undefined) return
    while (this.#line.length > 0) this.#line.next()?.refuse(refusal)
    this.#silence()
  }

  #refusal(): Error | undefined {
    const waitMs = this.#pausedUntilMs - this.#clock.monotonicMs()
    return waitMs > this.#pauseMsMax ? inLongPause({ waitMs, now: this.#clock.now() }) : undefined
  }

  /** How many may be under way at once now. */
  get permits(): number {
    return this.#allowance.permits
  }

  #serve(): void {
    while (this.#line.length > 0 && this.#held < this.#allowance.permits) {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs < this.#nextStartMs) return this.#wakeIn(this.#nextStartMs - nowMs)
      if (this.#spacingMs > 0) this.#nextStartMs = nowMs + this.#spacingMs
      this.#held += 1
      this.#line.next()?.grant(this.#permit())
    }
  }

  #permit(): Permit {
    const allowance = this.#allowance
    const { era } = allowance
    let held = true
    return {
      answered: () => allowance.answered(this.#held >= allowance.permits),
      strained: () => allowance.strained(era),
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        this.#held -= 1
        this.#serve()
      },
    }
  }

  #leave(waiter: Waiter, reason: Error): void {
    if (!this.#line.leave(waiter)) return
    waiter.refuse(reason)
    if (this.#line.length === 0) this.#silence()
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
