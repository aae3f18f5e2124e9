/**
 * Who sits at the warehouse in this process: nobody yet, the owner with its backend, or a standby. The console asks here.
 */
import type { ConsoleBackend } from '../console/backend.ts'

export class Seat {
  #backend: ConsoleBackend | undefined
  #isStandby = false

  /** The owner's, while this process owns the warehouse. */
  get backend(): ConsoleBackend | undefined {
    return this.#backend
  }

  /** It owns the warehouse, or has seen that somebody else does. */
  get isSettled(): boolean {
    return this.#backend !== undefined || this.#isStandby
  }

  take(backend: ConsoleBackend): void {
    this.#backend = backend
  }

  leave(): void {
    this.#backend = undefined
    this.#isStandby = false
  }

  standBy(): void {
    this.#isStandby = true
  }
}
