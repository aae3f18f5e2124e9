/**
 * Whether this process owns the warehouse, as a table of states. While it does, the console reads from the warehouse.
 * `/ready` reports whether the state is decided.
 */
import type { ConsoleBackend } from '../console/backend.ts'
import { assert } from '../errors.ts'

export type OwnerState = 'opening' | 'standby' | 'owner'

/** Each allowed move and its cause. A process that ends or dies leaves the table. */
export const OWNER_MOVES: readonly (readonly [OwnerState, OwnerState, string])[] = [
  ['opening', 'standby', 'another process has the file open'],
  ['opening', 'owner', 'the file is free'],
  ['standby', 'owner', 'the other process has ended and the file is free'],
  ['owner', 'opening', 'the worker stops, or the file has to be opened again'],
]

export class WarehouseOwnership {
  #state: OwnerState = 'opening'
  #backend: ConsoleBackend | undefined

  /** Where the console reads and sends commands while this process is the owner; undefined otherwise. */
  get backend(): ConsoleBackend | undefined {
    return this.#backend
  }

  /** Whether this process owns the warehouse or has seen that another process does. */
  get isDecided(): boolean {
    return this.#state !== 'opening'
  }

  own(backend: ConsoleBackend): void {
    this.#move('owner')
    this.#backend = backend
  }

  standBy(): void {
    this.#move('standby')
  }

  /** Does nothing in a process that never became the owner. */
  leave(): void {
    this.#backend = undefined
    if (this.#state === 'owner') this.#move('opening')
  }

  #move(to: OwnerState): void {
    const from = this.#state
    assert(from === to || OWNER_MOVES.some((move) => move[0] === from && move[1] === to), `no move ${from} → ${to}`)
    this.#state = to
  }
}
