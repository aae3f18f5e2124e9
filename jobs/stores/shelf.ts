/**
 * The little that processes share beside their jobs: short texts under names, each for so long. Tokens, refresh leases
 * and pauses are written once over this; each store has a shelf of its own. Time is the store's clock, since the
 * processes' clocks may differ.
 */
export interface Kept {
  readonly text: string
  readonly remainingMs: number
}

export interface Shelf {
  /** Undefined once its time is over. */
  read(name: string): Promise<Kept | undefined>
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
