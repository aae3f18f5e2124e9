/**
 * Records whether this process owns the warehouse, in three states. The owner's console reads from the warehouse.
 * `/readyz` reports whether this process knows who the owner is.
 */
import type { ConsoleBackend } from '../console/backend.ts'
import { assert } from '../errors.ts'

export type OwnerState = 'opening' | 'standby' | 'owner'

/** The allowed changes of state, each with its cause. */
export const OWNER_MOVES: readonly (readonly [OwnerState, OwnerState, string])[] = [
  ['opening', 'standby', 'another process has the file open'],
  ['opening', 'owner', 'the file is free'],
  ['standby', 'owner', 'the other process has ended and the file is free'],
  ['owner', 'opening', 'the worker stops, or the file has to be opened again'],
]

export class WarehouseOwnership {
  #state: OwnerState = 'opening'
  #backend: ConsoleBackend | undefined

  /** Returns the owner's backend for the console; undefined if this process is not the owner. */
  get backend(): ConsoleBackend | undefined {
    return this.#backend
  }

  /** Returns whether this process owns the warehouse, or has found that another process does. */
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

  /** Records that this process no longer owns the warehouse. Does nothing if this process did not own it. */
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
