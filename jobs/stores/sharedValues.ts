/** Short texts with a time to live (by the store's clock), shared by processes: tokens, refresh leases, pauses. */
import type { SharedPauses } from '../../src/client/sharedPauses.ts'
import { identityHash } from './tokenCipher.ts'

export interface StoredValue {
  readonly text: string
  readonly remainingMs: number
}

export interface SharedValues {
  /** Returns the value, or undefined when it has expired. */
  read(name: string): Promise<StoredValue | undefined>
  write(name: string, text: string, ms: number): Promise<void>
  /** Writes the value if the name is free. Of several callers, only one gets true. */
  claim(name: string, text: string, ms: number): Promise<boolean>
  /** If the value still has this text, it expires `ms` from now. Returns whether it has this text. */
  renew(name: string, text: string, ms: number): Promise<boolean>
  /** Removes the value if it still has this text. Otherwise another process has written it, and it stays. */
  remove(name: string, text: string): Promise<void>
  /** Stores an empty value that expires `ms` from now. A value that expires later is not changed. */
  prolong(name: string, ms: number): Promise<void>
}

/** Returns the pauses requested by Retry-After, which all processes share (product contract, promise 9). */
export function pausesOn(values: SharedValues, identity: string): SharedPauses {
  const name = `pause:${identityHash(identity)}`
  return {
    pause: async (ms) => {
      if (ms > 0) await values.prolong(name, ms)
    },
    remainingMs: async () => Math.max(0, (await values.read(name))?.remainingMs ?? 0),
  }
}
