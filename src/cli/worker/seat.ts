/**
 * Who sits at the warehouse in this process: nobody yet, the owner with its desk, or a standby. The console asks here.
 */
import type { Desk } from '../../console/desk.ts'

export class Seat {
  #desk: Desk | undefined
  #isStandby = false

  /** The owner's, while this process owns the warehouse. */
  get desk(): Desk | undefined {
    return this.#desk
  }

  /** It owns the warehouse, or has seen that somebody else does. */
  get isSettled(): boolean {
    return this.#desk !== undefined || this.#isStandby
  }

  take(desk: Desk): void {
    this.#desk = desk
  }

  leave(): void {
    this.#desk = undefined
    this.#isStandby = false
  }

  standBy(): void {
    this.#isStandby = true
  }
}
