/**
 * The little that processes share beside their jobs: short texts under names, each for so long. Tokens, refresh leases
 * and pauses are written once over this; each store has a values of its own. Time is the store's clock, since the
 * processes' clocks may differ.
 */
import type { SharedPauses } from '../../src/client/sharedPauses.ts'
import { nameOf } from './seal.ts'

export interface StoredValue {
  readonly text: string
  readonly remainingMs: number
}

export interface SharedValues {
  /** Undefined once its time is over. */
  read(name: string): Promise<StoredValue | undefined>
  write(name: string, text: string, ms: number): Promise<void>
  /** Puts it there if nothing is; whether it did. One of many callers wins. */
  claim(name: string, text: string, ms: number): Promise<boolean>
  /** Keeps it for so long from now if it still holds this text; whether it does. */
  renew(name: string, text: string, ms: number): Promise<boolean>
  /** Takes it away if it still holds this text. */
  remove(name: string, text: string): Promise<void>
  /** Has something under this name for at least so long from now; a longer time stays. */
  prolong(name: string, ms: number): Promise<void>
}

/** A pause that the service asked one process for, shared with all of them (product contract, promise 9). */
export function pausesOn(values: SharedValues, identity: string): SharedPauses {
  const name = `pause:${nameOf(identity)}`
  return {
    pause: async (ms) => {
      if (ms > 0) await values.prolong(name, ms)
    },
    remainingMs: async () => Math.max(0, (await values.read(name))?.remainingMs ?? 0),
  }
}
