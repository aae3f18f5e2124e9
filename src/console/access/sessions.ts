/** Login sessions. Only digests are kept, in memory. A session ends after 12 hours, at logout, or with the process. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { HOUR_MS } from '../../instant.ts'

export const SESSION_MS_MAX = 12 * HOUR_MS
/** Maximum number of sessions. A further login ends the oldest session. */
const SESSIONS_MAX = 100
const ID_BYTES = 32

export class Sessions {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** The end of each session (ms, monotonic clock) by the digest of its identifier. The oldest session is first. */
  readonly #open = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  begin(): string {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const [oldest] = this.#open.keys()
    if (this.#open.size >= SESSIONS_MAX && oldest !== undefined) this.#open.delete(oldest)
    this.#open.set(digestOf(id), this.#clock.monotonicMs() + SESSION_MS_MAX)
    return id
  }

  isOpen(id: string): boolean {
    const endsMs = this.#open.get(digestOf(id))
    return endsMs !== undefined && endsMs > this.#clock.monotonicMs()
  }

  end(id: string): void {
    this.#open.delete(digestOf(id))
  }
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('base64')
