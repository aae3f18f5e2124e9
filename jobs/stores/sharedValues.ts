/** Short texts that processes share: tokens, refresh leases and pauses. Each text expires by the store's clock. */
import type { SharedPauses } from '../../src/client/sharedPauses.ts'
import { identityHash } from './tokenCipher.ts'

export interface StoredValue {
  readonly text: string
  readonly remainingMs: number
}

export interface SharedValues {
  read(name: string): Promise<StoredValue | undefined>
  write(name: string, text: string, ms: number): Promise<void>
  /** If no value has this name, writes the value and returns true. If several processes call at once, one gets true. */
  claim(name: string, text: string, ms: number): Promise<boolean>
  /** If the value still equals `text`, lets it expire `ms` from now and returns true. Otherwise returns false. */
  renew(name: string, text: string, ms: number): Promise<boolean>
  remove(name: string, text: string): Promise<void>
  /** Stores an empty value that expires `ms` from now. A value that expires later is not overwritten. */
  prolong(name: string, ms: number): Promise<void>
}

/** Returns the pauses that Retry-After headers request. All processes share them (product contract, promise 9). */
export function pausesOn(values: SharedValues, identity: string): SharedPauses {
  const name = `pause:${identityHash(identity)}`
  return {
    pause: async (ms) => {
      if (ms > 0) await values.prolong(name, ms)
    },
    remainingMs: async () => Math.max(0, (await values.read(name))?.remainingMs ?? 0),
  }
}
