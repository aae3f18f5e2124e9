/** Logs the requests to the sandbox. */
import type { Instant } from '../instant.ts'

export interface LoggedRequest {
  readonly at: Instant
  readonly path: string
  readonly status: number
  readonly body: string
  readonly client?: string
  readonly problems: readonly string[]
}

const KEPT_MAX = 2_000
const BODY_CHARS_MAX = 4_096

export class RequestLog {
  readonly #kept: LoggedRequest[] = []
  readonly #counts = new Map<string, number>()

  add(request: LoggedRequest): void {
    this.#counts.set(request.path, this.count(request.path) + 1)
    this.#kept.push({ ...request, body: request.body.slice(0, BODY_CHARS_MAX) })
    if (this.#kept.length > KEPT_MAX) this.#kept.shift()
  }

  list(): LoggedRequest[] {
    return [...this.#kept]
  }

  get total(): number {
    return [...this.#counts.values()].reduce((total, count) => total + count, 0)
  }

  count(path: string): number {
    return this.#counts.get(path) ?? 0
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  clear(): void {
    this.#kept.length = 0
    this.#counts.clear()
  }
}
