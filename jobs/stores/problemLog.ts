/** Masks passwords in messages of database drivers. Errors have no `cause`: it can contain the password. */
import type { Clock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import { type ServerAddress, withoutSecrets } from './address.ts'

const LOG_AGAIN_MS = MINUTE_MS

const REDIS_PLACE = / script: [0-9a-f]+, on @user_script:\d+\.?/

export const unreachableError = (address: ServerAddress, error: unknown): SyncError =>
  new SyncError(
    'QUEUE_UNREACHABLE',
    `the queue store ${address.shown} cannot be reached: ${withoutSecrets(messageOf(error), address)}`,
    { cure: 'Check queue (TIDEMARK_QUEUE_URL) and the server. On one machine, queue: embedded needs none.' },
  )

export const unfitError = (shown: string, what: string, cure: string): SyncError =>
  new SyncError('QUEUE_UNFIT', `the queue store ${shown} is not fit: ${what}`, { cure })

/** Returns an error's message. An AggregateError itself has no message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  return 'code' in error ? String(error.code) : error.name
}

export class ProblemLog {
  readonly #options: { readonly log?: Log | undefined; readonly clock: Clock }
  readonly mask: (text: string) => string
  readonly #loggedAtMs = new Map<string, number>()

  constructor(options: { log?: Log | undefined; clock: Clock }, mask: (text: string) => string) {
    this.#options = options
    this.mask = mask
  }

  readonly log = (error: unknown): void => {
    const { log, clock } = this.#options
    const message = this.mask(messageOf(error))
    const trouble = message.replace(REDIS_PLACE, '')
    const nowMs = clock.monotonicMs()
    for (const [each, loggedMs] of this.#loggedAtMs) if (nowMs - loggedMs >= LOG_AGAIN_MS) this.#loggedAtMs.delete(each)
    if (this.#loggedAtMs.has(trouble)) return
    this.#loggedAtMs.set(trouble, nowMs)
    log?.warn({ trouble: message }, 'the queue store has trouble; it is tried again')
  }

  readonly reset = (): void => {
    if (this.#loggedAtMs.size === 0) return
    this.#loggedAtMs.clear()
    this.#options.log?.info('the queue store is back')
  }
}
