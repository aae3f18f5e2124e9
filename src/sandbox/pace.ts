/** Makes random changes at a rate per second: every 50 ms, as many as are due. */
import type { Clock } from '../clock.ts'

const PORTION_MS = 50
const PORTION_CHANGES_MAX = 5_000

export class Pace {
  readonly #clock: Clock
  readonly #change: () => void
  #perSecond = 0
  #pending = 0
  #lastMs = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, change: () => void) {
    this.#clock = clock
    this.#change = change
  }

  get perSecond(): number {
    return this.#perSecond
  }

  set(perSecond: number): void {
    this.stop()
    this.#perSecond = perSecond
    this.#pending = 0
    this.#lastMs = this.#clock.monotonicMs()
    if (perSecond > 0) this.#schedule()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#perSecond = 0
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(PORTION_MS, () => {
      this.#portion()
      this.#schedule()
    })
  }

  #portion(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#pending += ((nowMs - this.#lastMs) / 1_000) * this.#perSecond
    this.#lastMs = nowMs
    const due = Math.min(Math.floor(this.#pending), PORTION_CHANGES_MAX)
    this.#pending -= Math.floor(this.#pending)
    for (let i = 0; i < due; i += 1) this.#change()
  }
}
