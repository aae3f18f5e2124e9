/** Composes a queue store from the parts that each kind of store implements. */
import type { Clock } from '../../src/clock.ts'
import { pausesOn, type SharedValues } from './sharedValues.ts'
import type { Queues } from './queues.ts'
import { SharedTokens } from './sharedTokens.ts'
import type { QueueStore, StoreFinding, StoreKind } from './store.ts'

export interface StoreOptions {
  readonly kind: StoreKind
  readonly clock: Clock
  readonly queues: Queues
  readonly values: SharedValues
  readonly mask: (text: string) => string
  readonly leaseMs: number | undefined
  readonly check: () => Promise<readonly StoreFinding[]>
  readonly workersOf: (name: string) => Promise<number>
  /** Closes the connections, after the queues were closed. */
  readonly release: () => Promise<void>
}

/** Maximum time (ms) by which a store that does not respond may delay the end of a process. */
const CLOSING_MS_MAX = 4_000

/** Time (ms) for which the store keeps the value that `checkWritable` writes. */
const READY_MS = 60_000

export function composeStore(parts: StoreOptions): QueueStore {
  const { kind, clock, queues, values, mask, leaseMs, check, workersOf, release } = parts
  let closed: Promise<void> | undefined
  const close = () => (closed ??= ended(queues.close(), clock).then(release))
  return {
    kind,
    queue: (name) => queues.queue(name),
    worker: (name, processor, options) => queues.worker(name, processor, options),
    tokens: (access) => new SharedTokens({ values, clock, access, leaseMs, mask }),
    pauses: ({ identity }) => pausesOn(values, identity),
    workersOf,
    checkWritable: () => values.write('ready', '', READY_MS),
    check,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Resolves when the work is done, or after `CLOSING_MS_MAX`. Unfinished calls fail when the store closes. */
async function ended(work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController()
  const late = clock.sleep(CLOSING_MS_MAX, done.signal).catch(() => undefined)
  await Promise.race([work, late])
  done.abort()
}
