/** A clock that stands still until a test moves it, so that expiry, limits and skew are tested without waiting. */
import type { Clock } from '../../src/clock.ts'
import { plusMs, type Instant } from '../../src/instant.ts'

export class HandClock implements Clock {
  readonly slept: number[] = []
  #now: Instant
  #elapsedMs = 0

  constructor(isoTime = '2026-03-01T12:00:00Z') {
    this.#now = (Date.parse(isoTime) * 1_000) as Instant
  }

  move(ms: number): void {
    this.#now = plusMs(this.#now, ms)
    this.#elapsedMs += ms
  }

  now(): Instant {
    return this.#now
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  nextTurn(): Promise<void> {
    return Promise.resolve()
  }

  sleep(ms: number): Promise<void> {
    this.slept.push(ms)
    return Promise.resolve()
  }

  after(): () => void {
    return () => undefined
  }

  random(): number {
    return 0.5
  }
}
