/** Limits how many requests run at once and per second, and delays requests during a pause. */
import { type Clock, within } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { formatInstant, plusMs } from '../instant.ts'
import { onAbort } from '../signals.ts'
import { reasonOf, throwIfAborted } from './cancellation.ts'
import { afterOverload, afterResponse, type Concurrency, firstConcurrency, limitOf } from './concurrency.ts'

export interface LimiterRules {
  /** Maximum number of concurrent requests. The limiter starts at 4. */
  concurrency: number
  requestsPerSecond?: number | undefined
  /** If a pause is longer than this, requests do not wait but fail with RATE_LIMITED. */
  pauseMsMax?: number | undefined
  sharedPauses?: SharedPauses | undefined
}

/** Makes all processes pause when the service requests a pause from one process. */
export interface SharedPauses {
  /** Stores the pause, unless a longer one is already stored. */
  pause(ms: number): Promise<void>
  remainingMs(): Promise<number>
}

/** Shared pauses are read at most once in this time, so another process's pause may be noticed this much later. */
const SHARED_CHECK_EVERY_MS = 250
/** A request waits at most this long for the store of shared pauses, because the store may be down. */
const SHARED_CHECK_MS_MAX = 500

export interface Permit extends Disposable {
  succeeded(): void
  overloaded(): void
}

type Waiter = PromiseWithResolvers<Permit>

export class Limiter {
  readonly #rules: LimiterRules
  readonly #clock: Clock
  readonly #spacingMs: number
  readonly #queue = new FairQueue<Waiter>()
  readonly #newSharedPauseMs: (() => Promise<number>) | undefined
  #concurrency: Concurrency
  #inFlight = 0
  #nextStartMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  #alarm: AbortController | undefined

  constructor(rules: LimiterRules, clock: Clock) {
    this.#rules = rules
    this.#clock = clock
    this.#newSharedPauseMs = rules.sharedPauses && pauseChecks(rules.sharedPauses, clock)
    this.#concurrency = firstConcurrency(rules.concurrency)
    this.#spacingMs = 1_000 / (rules.requestsPerSecond ?? Number.POSITIVE_INFINITY)
  }

  /** Waits for a permit to send a request. Throws RATE_LIMITED if a pause is longer than `pauseMsMax`. */
  async acquire(signal: AbortSignal, priority: Priority = 'first'): Promise<Permit> {
    for (;;) {
      const permit = await this.#waitForPermit(signal, priority)
      const pauseMs = (await this.#newSharedPauseMs?.()) ?? 0
      if (pauseMs <= 0) return permit
      this.#delayRequests(pauseMs)
      permit[Symbol.dispose]()
    }
  }

  /** Delays all requests of this process and of processes that share its pauses. */
  pause(ms: number): void {
    this.#delayRequests(ms)
    this.#rules.sharedPauses?.pause(ms).catch(() => undefined)
  }

  async #waitForPermit(signal: AbortSignal, priority: Priority): Promise<Permit> {
    throwIfAborted(signal)
    const error = this.#longPauseError()
    if (error !== undefined) throw error
    const waiter: Waiter = Promise.withResolvers()
    using _ = onAbort(signal, () => this.#stopWaiting(waiter, reasonOf(signal)))
    this.#queue.add(waiter, priority)
    this.#grantPermits()
    return await waiter.promise
  }

  #delayRequests(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.monotonicMs() + ms)
    this.#nextStartMs = Math.max(this.#nextStartMs, this.#pausedUntilMs)
    const error = this.#longPauseError()
    if (error === undefined) return
    while (this.#queue.length > 0) this.#queue.next()?.reject(error)
    this.#cancelAlarm()
  }

  #longPauseError(): Error | undefined {
    const waitMs = this.#pausedUntilMs - this.#clock.monotonicMs()
    if (waitMs <= (this.#rules.pauseMsMax ?? Number.POSITIVE_INFINITY)) return undefined
    const end = pauseEnd(waitMs, this.#clock)
    return new SyncError('RATE_LIMITED', `the service asked for a pause: the next request is not before ${end}`, {
      cure: 'Wait: runs continue by themselves after that. The owner of the service knows the reason for so long a pause.',
      data: { retryAfterMs: waitMs },
    })
  }

  #grantPermits(): void {
    while (this.#queue.length > 0 && this.#inFlight < limitOf(this.#concurrency)) {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs < this.#nextStartMs) return this.#wakeIn(this.#nextStartMs - nowMs)
      this.#nextStartMs = nowMs + this.#spacingMs
      this.#inFlight += 1
      this.#queue.next()?.resolve(this.#permit())
    }
  }

  #permit(): Permit {
    const atStart = this.#concurrency
    const startedMs = this.#clock.monotonicMs()
    let isInFlight = true
    return {
      succeeded: () => {
        const now = this.#concurrency
        // While a permit is free, no request waits, so the limit stays.
        if (this.#inFlight < limitOf(now)) return
        this.#concurrency = afterResponse(now, this.#clock.monotonicMs() - startedMs, atStart)
      },
      overloaded: () => void (this.#concurrency = afterOverload(this.#concurrency, atStart)),
      [Symbol.dispose]: () => {
        if (!isInFlight) return
        isInFlight = false
        this.#inFlight -= 1
        this.#grantPermits()
      },
    }
  }

  #stopWaiting(waiter: Waiter, reason: Error): void {
    if (!this.#queue.remove(waiter)) return
    waiter.reject(reason)
    if (this.#queue.length === 0) this.#cancelAlarm()
  }

  /** Wakes the queue. `clock.after` is not used, because the process could exit while requests wait. */
  #wakeIn(ms: number): void {
    if (this.#alarm !== undefined) return
    const alarm = (this.#alarm = new AbortController())
    const wake = () => {
      if (this.#alarm !== alarm) return
      this.#alarm = undefined
      this.#grantPermits()
    }
    this.#clock.sleep(ms, alarm.signal).then(wake, wake)
  }

  #cancelAlarm(): void {
    this.#alarm?.abort()
    this.#alarm = undefined
  }
}

/** Returns a function that checks the pauses of other processes. Requests at the same time share a check. */
function pauseChecks(pauses: SharedPauses, clock: Clock): () => Promise<number> {
  let checkedMs = Number.NEGATIVE_INFINITY
  let checking: Promise<number> | undefined
  const remainingMs = async (): Promise<number> => {
    const foundMs = await within(SHARED_CHECK_MS_MAX, clock, () => pauses.remainingMs().catch(() => 0))
    checkedMs = clock.monotonicMs()
    checking = undefined
    return foundMs ?? 0
  }
  return async () => {
    const isFresh = clock.monotonicMs() - checkedMs < SHARED_CHECK_EVERY_MS
    // Shortly after a check, the pause was already applied.
    return checking === undefined && isFresh ? 0 : await (checking ??= remainingMs())
  }
}

export const pauseEnd = (waitMs: number, clock: Pick<Clock, 'now'>): string =>
  `${formatInstant(plusMs(clock.now(), waitMs)).slice(0, 19)}Z`

/** Requests of a backfill are `behind`: each waits until no request of an incremental run is waiting. */
export type Priority = 'first' | 'behind'

/** After this many consecutive `first` requests, one `behind` request is sent, so that backfills advance. */
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
    const isTurnOfBehind = behind.length > 0 && (first.length === 0 || this.#firstInARow >= FIRST_IN_A_ROW_MAX)
    this.#firstInARow = isTurnOfBehind || behind.length === 0 ? 0 : this.#firstInARow + 1
    return isTurnOfBehind ? behind.shift() : first.shift()
  }

  remove(item: T): boolean {
    const items = this.#items.first.includes(item) ? this.#items.first : this.#items.behind
    const index = items.indexOf(item)
    if (index >= 0) items.splice(index, 1)
    return index >= 0
  }
}
