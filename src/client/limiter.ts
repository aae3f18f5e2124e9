/** Decides when a request can be sent. Limits rate and concurrency, orders by priority, and waits during pauses. */
import { type Clock, within } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { formatInstant, plusMs } from '../instant.ts'
import { onAbort } from '../signals.ts'
import { reasonOf, throwIfAborted } from './cancellation.ts'

export interface LimiterRules {
  /** Maximum number of concurrent requests. The limiter starts at 4, and allows more as requests succeed. */
  concurrency: number
  requestsPerSecond?: number | undefined
  /** Requests wait out a pause of up to this length (ms). During a longer one, they fail with RATE_LIMITED. */
  pauseMsMax?: number | undefined
  sharedPauses?: SharedPauses | undefined
}

/** Shares pauses after a 429 or a Retry-After with other processes. If this fails, only our own pauses apply. */
export interface SharedPauses {
  /** Stores a pause that begins now and lasts `ms` milliseconds. Does not shorten a longer stored pause. */
  pause(ms: number): Promise<void>
  remainingMs(): Promise<number>
}

/** Minimum time between two reads of the shared pauses. A pause of another process may go unnoticed for this long. */
const SHARED_CHECK_EVERY_MS = 250
/** If other processes' pauses can't be read within this time, the request is sent anyway: the store may be down. */
const SHARED_CHECK_MS_MAX = 500

export interface Permit extends Disposable {
  succeeded(): void
  overloaded(): void
}

type Waiter = PromiseWithResolvers<Permit>

export class Limiter {
  readonly #rules: LimiterRules
  readonly #clock: Clock
  readonly #concurrency: AdaptiveConcurrency
  readonly #spacingMs: number
  #sharedCheckedMs = Number.NEGATIVE_INFINITY
  #sharedCheck: Promise<number> | undefined
  readonly #queue = new FairQueue<Waiter>()
  #inFlight = 0
  #nextStartMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  #alarm: AbortController | undefined

  constructor(rules: LimiterRules, clock: Clock) {
    this.#rules = rules
    this.#clock = clock
    this.#concurrency = new AdaptiveConcurrency(rules.concurrency)
    this.#spacingMs = 1_000 / (rules.requestsPerSecond ?? Number.POSITIVE_INFINITY)
  }

  /** Returns a permit. Callers with the same priority are served in order. Throws RATE_LIMITED during a long pause. */
  async acquire(signal: AbortSignal, priority: Priority = 'first'): Promise<Permit> {
    for (;;) {
      const permit = await this.#turn(signal, priority)
      const pauseMs = await this.#sharedPauseMs()
      if (pauseMs <= 0) return permit
      this.#hold(pauseMs)
      permit[Symbol.dispose]()
    }
  }

  /** Delays all requests for `ms` milliseconds, in this process and in all processes that share its pauses. */
  pause(ms: number): void {
    this.#hold(ms)
    this.#rules.sharedPauses?.pause(ms).catch(() => undefined)
  }

  async #turn(signal: AbortSignal, priority: Priority): Promise<Permit> {
    throwIfAborted(signal)
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
    const waiter: Waiter = Promise.withResolvers()
    using _ = onAbort(signal, () => this.#leave(waiter, reasonOf(signal)))
    this.#queue.add(waiter, priority)
    this.#serve()
    return await waiter.promise
  }

  /** Returns the remaining shared pause (ms). 0 right after a check, because `#hold` already applies the pause. */
  async #sharedPauseMs(): Promise<number> {
    const pauses = this.#rules.sharedPauses
    const isFresh = this.#clock.monotonicMs() - this.#sharedCheckedMs < SHARED_CHECK_EVERY_MS
    if (pauses === undefined || (this.#sharedCheck === undefined && isFresh)) return 0
    const check = () => within(SHARED_CHECK_MS_MAX, this.#clock, () => pauses.remainingMs().catch(() => 0))
    return await (this.#sharedCheck ??= check().then((remainingMs) => {
      this.#sharedCheckedMs = this.#clock.monotonicMs()
      this.#sharedCheck = undefined
      return remainingMs ?? 0
    }))
  }

  #hold(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonicMs() + ms)
    this.#nextStartMs = Math.max(this.#nextStartMs, this.#pausedUntilMs)
    const refusal = this.#refusal()
    if (refusal === undefined) return
    while (this.#queue.length > 0) this.#queue.next()?.reject(refusal)
    this.#cancelAlarm()
  }

  #refusal(): Error | undefined {
    const waitMs = this.#pausedUntilMs - this.#clock.monotonicMs()
    const { pauseMsMax = Number.POSITIVE_INFINITY } = this.#rules
    return waitMs > pauseMsMax ? longPauseError(waitMs, this.#clock) : undefined
  }

  #serve(): void {
    while (this.#queue.length > 0 && this.#inFlight < this.#concurrency.limit) {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs < this.#nextStartMs) return this.#wakeIn(this.#nextStartMs - nowMs)
      this.#nextStartMs = nowMs + this.#spacingMs
      this.#inFlight += 1
      this.#queue.next()?.resolve(this.#permit())
    }
  }

  #permit(): Permit {
    const concurrency = this.#concurrency
    const { halvings, limit } = concurrency
    const sinceMs = this.#clock.monotonicMs()
    let isInFlight = true
    return {
      succeeded: () =>
        concurrency.succeeded(this.#inFlight >= concurrency.limit, this.#clock.monotonicMs() - sinceMs, limit),
      overloaded: () => concurrency.overloaded(halvings),
      [Symbol.dispose]: () => {
        if (!isInFlight) return
        isInFlight = false
        this.#inFlight -= 1
        this.#serve()
      },
    }
  }

  #leave(waiter: Waiter, reason: Error): void {
    if (!this.#queue.remove(waiter)) return
    waiter.reject(reason)
    if (this.#queue.length === 0) this.#cancelAlarm()
  }

  /** Serves the queue after `ms` milliseconds. Not with `clock.after`, which would let the process exit. */
  #wakeIn(ms: number): void {
    if (this.#alarm !== undefined) return
    const alarm = (this.#alarm = new AbortController())
    const wake = () => {
      if (this.#alarm !== alarm) return
      this.#alarm = undefined
      this.#serve()
    }
    this.#clock.sleep(ms, alarm.signal).then(wake, wake)
  }

  #cancelAlarm(): void {
    this.#alarm?.abort()
    this.#alarm = undefined
  }
}

export const pauseEnd = (waitMs: number, clock: Pick<Clock, 'now'>): string =>
  `${formatInstant(plusMs(clock.now(), waitMs)).slice(0, 19)}Z`

const longPauseError = (waitMs: number, clock: Clock): SyncError =>
  new SyncError(
    'RATE_LIMITED',
    `the service asked for a pause: the next request is not before ${pauseEnd(waitMs, clock)}`,
    {
      cure: 'Wait: runs continue by themselves after that. The owner of the service knows the reason for so long a pause.',
      data: { retryAfterMs: waitMs },
    },
  )

/** Incremental runs are `first`. Backfills are `behind`, because they wait for incremental runs. */
export type Priority = 'first' | 'behind'

/** After this many `first` requests in a row, one waiting `behind` request is sent, so that backfills keep moving. */
const FIRST_IN_A_ROW_MAX = 7

export class FairQueue<T> {
  readonly #items: Record<Priority, T[]> = { first: [], behind: [] }
  #firstInARow = 0

  get length(): number {
    return this.#items.first.length + this.#items.behind.length
  }

  add(item: T, priority: Priority): void {
    this.#items[priority].push(item)
  }

  next(): T | undefined {
    const { first, behind } = this.#items
    const isTurnOfBehind = first.length === 0 || (behind.length > 0 && this.#firstInARow >= FIRST_IN_A_ROW_MAX)
    this.#firstInARow = isTurnOfBehind || behind.length === 0 ? 0 : this.#firstInARow + 1
    return isTurnOfBehind ? behind.shift() : first.shift()
  }

  remove(item: T): boolean {
    return Object.values(this.#items).some((items) => {
      const index = items.indexOf(item)
      if (index >= 0) items.splice(index, 1)
      return index >= 0
    })
  }
}

/** The limit at the start. Slow responses never reduce the limit below this number; only an overload does. */
const STEADY_LIMIT = 4
/** Responses count as slow if, on average, they take this many times as long as usual. */
const SLOWER = 1.5
/** Weight of the earlier responses in the average time. The newest response has the rest. */
const TIME_MEMORY = 0.75

/** Limits concurrent requests. Successes raise the limit, slower responses lower it, and an overload halves it. */
export class AdaptiveConcurrency {
  readonly #max: number
  #limit: number
  /** Below this limit, each success adds 1 to the limit. From this limit on, each success adds only 1 / limit. */
  #slowGrowthFrom: number
  /** How often the limit has been halved. Requests that began before the last halving can't halve the limit again. */
  halvings = 0
  /** `#recentMs` is the average response time. `#usualMs` is the average while the limit is at most `STEADY_LIMIT`. */
  #recentMs: number | undefined
  #usualMs = 0

  constructor(max: number) {
    this.#max = max
    this.#slowGrowthFrom = max
    this.#limit = Math.min(STEADY_LIMIT, max)
  }

  get limit(): number {
    return Math.floor(this.#limit)
  }

  /** Raises the limit, or lowers it if responses have become slow. Does neither if a permit was free. */
  succeeded(wasFull: boolean, ms: number, limitAtStart: number): void {
    // Ignores requests that began at a higher limit: their response times don't reflect the current one.
    if (!wasFull || limitAtStart > this.limit) return
    const recentMs = TIME_MEMORY * (this.#recentMs ?? ms) + (1 - TIME_MEMORY) * ms
    this.#recentMs = recentMs
    this.#usualMs = this.limit <= STEADY_LIMIT ? recentMs : Math.min(this.#usualMs, recentMs)
    if (recentMs > this.#usualMs * SLOWER) {
      this.#recentMs = this.#usualMs
      this.#limit = Math.max(STEADY_LIMIT, this.#limit - 1)
      this.#slowGrowthFrom = this.#limit
      return
    }
    const step = this.#limit < this.#slowGrowthFrom ? 1 : 1 / this.#limit
    this.#limit = Math.min(this.#max, this.#limit + step)
  }

  /** Halves the limit once per overload. Requests that began before the last halving have no effect. */
  overloaded(halvingsAtStart: number): void {
    if (halvingsAtStart !== this.halvings) return
    this.halvings += 1
    this.#limit = Math.max(1, this.#limit / 2)
    this.#slowGrowthFrom = this.#limit
  }
}
