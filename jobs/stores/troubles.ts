/**
 * What goes wrong between us and a store, made fit for people: errors of the family without a driver's own error behind
 * them (it may carry the command that failed, and AUTH carries the password), and a log that says each trouble once
 * instead of once per attempt to connect.
 */
import type { Clock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import { type ServerAddress, withoutSecrets } from './address.ts'

/** A trouble that goes on is said again after this. */
const SAID_AGAIN_MS = MINUTE_MS

/** Redis names the script and the line that met it: one trouble comes from a dozen of them. */
const REDIS_PLACE = / script: [0-9a-f]+, on @user_script:\d+\.?/

export const unreachable = (address: ServerAddress, error: unknown): SyncError =>
  new SyncError(
    'QUEUE_UNREACHABLE',
    `the queue store ${address.shown} cannot be reached: ${withoutSecrets(messageOf(error), address)}`,
    { cure: 'Check queue (TIDEMARK_QUEUE_URL) and that the server runs; on one machine queue: embedded needs none.' },
  )

export const unfit = (shown: string, what: string, cure: string): SyncError =>
  new SyncError('QUEUE_UNFIT', `the queue store ${shown} is not fit: ${what}`, { cure })

/**
 * A store that was connected and no longer does what it is asked for: it is away, its memory is full, it has become a
 * replica. It may do so again later, so whoever asked tries again.
 */
export const unwilling = (shown: string, reason: string): SyncError =>
  new SyncError('QUEUE_UNREACHABLE', `the queue store ${shown} has trouble: ${reason}`, {
    cure: 'See that it runs, has memory or disk left and takes writes; the worker goes on by itself when it does.',
  })

/** Node's name for several failed connections has no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}

export class Troubles {
  readonly #parts: { readonly log: Log | undefined; readonly clock: Clock; readonly mask: (text: string) => string }
  /** When each was said. Several may go on at once, and by turns. */
  readonly #said = new Map<string, number>()

  constructor(parts: { log: Log | undefined; clock: Clock; mask: (text: string) => string }) {
    this.#parts = parts
  }

  /** Logs one line for the trouble, unless the same line was logged a moment ago. */
  readonly tell = (error: unknown): void => {
    const { log, clock, mask } = this.#parts
    const message = mask(messageOf(error))
    const trouble = message.replace(REDIS_PLACE, '')
    const nowMs = clock.monotonicMs()
    for (const [each, saidMs] of this.#said) if (nowMs - saidMs >= SAID_AGAIN_MS) this.#said.delete(each)
    if (this.#said.has(trouble)) return
    this.#said.set(trouble, nowMs)
    log?.warn({ trouble: message }, 'the queue store has trouble; it is tried again')
  }

  /** The store is back: the next trouble is a new one. */
  readonly isOver = (): void => {
    if (this.#said.size === 0) return
    this.#said.clear()
    this.#parts.log?.info('the queue store is back')
  }
}
