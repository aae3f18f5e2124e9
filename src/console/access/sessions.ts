/** Login sessions, stored as hashes in memory. A session ends after 12 hours, at logout, or when the process ends. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { HOUR_MS } from '../../instant.ts'

export const SESSION_MS_MAX = 12 * HOUR_MS
const SESSIONS_MAX = 100
const ID_BYTES = 32

export type Access = 'act' | 'look'

export class Sessions {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** The sessions by the hash of their identifier, the oldest first. `endsMs` is monotonic time. */
  readonly #open = new Map<string, { readonly endsMs: number; readonly access: Access }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  begin(access: Access): string {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const [oldest] = this.#open.keys()
    if (this.#open.size >= SESSIONS_MAX && oldest !== undefined) this.#open.delete(oldest)
    this.#open.set(digestOf(id), { endsMs: this.#clock.monotonicMs() + SESSION_MS_MAX, access })
    return id
  }

  accessOf(id: string): Access | undefined {
    const { endsMs = 0, access } = this.#open.get(digestOf(id)) ?? {}
    return endsMs > this.#clock.monotonicMs() ? access : undefined
  }

  end(id: string): void {
    this.#open.delete(digestOf(id))
  }
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('base64')
