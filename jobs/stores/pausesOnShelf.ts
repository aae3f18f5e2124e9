/** A pause that one process was asked for, kept in the store for all of them (product contract, promise 9). */
import type { SharedPauses } from '../../src/client/sharedPauses.ts'
import { nameOf } from './seal.ts'
import type { Shelf } from './shelf.ts'

export function pausesOn(shelf: Shelf, identity: string): SharedPauses {
  const name = `pause:${nameOf(identity)}`
  return {
    pause: async (ms) => {
      if (ms > 0) await shelf.prolong(name, ms)
    },
    remainingMs: async () => Math.max(0, (await shelf.read(name))?.remainingMs ?? 0),
  }
}
