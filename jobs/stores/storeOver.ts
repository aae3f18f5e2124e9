/** A queue store put together from what each kind brings: its queues, its shelf, what it says of itself, its end. */
import type { Clock } from '../../src/clock.ts'
import { pausesOn } from './pausesOnShelf.ts'
import type { Queues } from './queues.ts'
import { SharedTokens } from './sharedTokens.ts'
import type { Shelf } from './shelf.ts'
import type { QueueStore, StoreFinding, StoreKind } from './store.ts'

export interface StoreParts {
  readonly kind: StoreKind
  readonly clock: Clock
  readonly queues: Queues
  readonly shelf: Shelf
  readonly mask: (text: string) => string
  readonly leaseMs: number | undefined
  readonly check: () => Promise<readonly StoreFinding[]>
  readonly workersOf: (name: string) => Promise<number>
  /** Lets go of the store itself, after its queues were closed. */
  readonly release: () => Promise<void>
}

export function storeOver(parts: StoreParts): QueueStore {
  const { kind, clock, queues, shelf, mask, leaseMs, check, workersOf, release } = parts
  let closed: Promise<void> | undefined
  const close = () => (closed ??= queues.close().then(release))
  return {
    kind,
    queue: (name) => queues.queue(name),
    worker: (name, processor, options) => queues.worker(name, processor, options),
    events: (name) => queues.events(name),
    tokens: (access) => new SharedTokens({ shelf, clock, access, leaseMs, mask }),
    pauses: ({ identity }) => pausesOn(shelf, identity),
    workersOf,
    check,
    close,
    [Symbol.asyncDispose]: close,
  }
}
