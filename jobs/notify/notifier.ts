/** Sends a notice to a webhook when a condition begins and when it ends. A slow receiver never delays a run. */
import { randomUUID, createHmac } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../src/clock.ts'
import type { Config, NotifyConfig } from '../../src/config/config.ts'
import { removeTemporaryFiles } from '../../src/files.ts'
import { formatInstant, MINUTE_MS, SECOND_MS, toMillis } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import type { BookFigures } from '../../src/warehouse/books/bookFigures.ts'
import type { RunEvent, Runs } from '../runs/runs.ts'
import { type Condition, conditionsOf, isBrake } from './conditions.ts'
import { emptyMemory, type Memory, type Notice, readMemory, type Waiting, writeMemory } from './memory.ts'

export interface NotifierOptions {
  readonly notify: NotifyConfig
  readonly config: Pick<Config, 'reports' | 'service' | 'warehouse'>
  readonly books: () => Promise<readonly BookFigures[]>
  readonly runs: Runs
  readonly clock: Clock
  readonly log: Log
  readonly onNotice?: (event: string, outcome: 'delivered' | 'failed' | 'given up') => void
  readonly times?: typeof TIMES
}

const TIMES = {
  checkMs: 30 * SECOND_MS,
  /** In this time after the worker's start, no notice about late reports is sent. */
  graceMs: 5 * MINUTE_MS,
  /** The delay before the second try. The delay doubles after each try. */
  retryMs: 2 * SECOND_MS,
}
const RETRY_MS_MAX = 5 * MINUTE_MS
/** A notice is dropped after this many tries, which take about half an hour. */
const TRIES_MAX = 13
const WAITING_MAX = 100

export const noticesFileOf = (warehouse: string): string => `${warehouse}.notices.json`

export class Notifier {
  readonly #parts: NotifierOptions
  readonly #times: typeof TIMES
  readonly #file: string
  #memory = emptyMemory()
  #wake = Promise.withResolvers<void>()

  constructor(parts: NotifierOptions) {
    this.#parts = parts
    this.#times = parts.times ?? TIMES
    this.#file = noticesFileOf(parts.config.warehouse)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { runs, clock, log, config } = this.#parts
    this.#memory = await readMemory(this.#file)
    await removeTemporaryFiles(this.#file).catch(() => undefined)
    // Forgets failures of disabled reports, because such a report has no later run that can succeed.
    this.#memory.failures = this.#memory.failures.filter(({ report }) => config.reports[report].enabled)
    const unfollow = runs.follow((event) => this.#recordRun(event))
    const startedMs = clock.monotonicMs()
    try {
      while (!signal.aborted) {
        this.#wake = Promise.withResolvers<void>()
        await this.#checkConditions(clock.monotonicMs() - startedMs >= this.#times.graceMs)
        await this.#deliverDue(signal)
        await this.#waitForNext(signal)
      }
    } catch (error) {
      log.error({ err: error }, 'notices are no longer sent: restart the worker')
    } finally {
      unfollow()
    }
  }

  #recordRun(event: RunEvent): void {
    if (event.event !== 'ended') return
    const { kind, outcome } = event
    const { report, state, error } = outcome
    const { failures } = this.#memory
    const isOfRun = (each: Memory['failures'][number]) => each.report === report && each.kind === kind
    if (state === 'done') this.#memory.failures = failures.filter((each) => !isOfRun(each))
    else if (state === 'failed' && error !== undefined && error.code !== 'CANCELLED' && error.code !== 'FENCED') {
      const { code, message, cure } = error
      // Failures with MASS_DELETE_STOPPED are counted separately from other failures.
      const isSame = (each: Memory['failures'][number]) => isOfRun(each) && isBrake(each) === isBrake({ code })
      const times = (failures.find(isSame)?.times ?? 0) + 1
      this.#memory.failures = [
        ...failures.filter((each) => !isSame(each)),
        { report, kind, times, code, message, cure },
      ]
    } else return
    this.#wake.resolve()
  }

  /** Adds a notice to the waiting notices for each condition that has begun or ended. */
  async #checkConditions(checksLag: boolean): Promise<void> {
    const { books, config, clock, notify } = this.#parts
    // If the state of the reports cannot be read now, the next check reads it again.
    const figures = await books().catch(() => undefined)
    if (figures === undefined) return
    const { failures, told } = this.#memory
    const known = { figures, failures, reports: config.reports, nowMs: toMillis(clock.now()), checksLag }
    const current = new Map(conditionsOf(known, notify).map((condition) => [condition.key, condition]))
    for (const [key, condition] of current) {
      if (told[key] === undefined) told[key] = this.#addNotice(condition, 'firing')
    }
    for (const [key, notice] of Object.entries(told)) {
      if (current.has(key) || (notice.event === 'lag.exceeded' && !checksLag)) continue
      this.#addNotice({ ...notice, key }, 'resolved')
      delete told[key]
    }
    await writeMemory(this.#file, this.#memory)
  }

  #addNotice({ event, report, code, message, cure }: Condition, state: Notice['state']): Notice {
    const { clock, config, log } = this.#parts
    const at = formatInstant(clock.now())
    const from = { service: config.service.baseUrl.host, host: hostname() }
    const notice: Notice = { id: randomUUID(), event, state, report, code, message, cure, at, ...from }
    const { waiting } = this.#memory
    waiting.push({ notice, tries: 0, dueMs: 0 })
    this.#memory.waiting = waiting.slice(-WAITING_MAX)
    log.info({ event, state, report, code }, `notice: ${state === 'firing' ? message : `over: ${message}`}`)
    return notice
  }

  /** Sends the notices in order: the receiver gets the notice of a condition's beginning before that of its end. */
  async #deliverDue(signal: AbortSignal): Promise<void> {
    const { clock, notify } = this.#parts
    for (const waiting of this.#memory.waiting) {
      const nowMs = toMillis(clock.now())
      if (signal.aborted || restMs(waiting, nowMs) > 0) return
      const delivery = await deliver(notify, waiting.notice, { unixS: Math.floor(nowMs / 1_000), signal })
      if (signal.aborted && !delivery.ok) return
      const isOver = this.#recordDelivery(waiting, delivery.ok ? undefined : delivery.why)
      await writeMemory(this.#file, this.#memory)
      if (!isOver) return
    }
  }

  /** Stores whether a try has succeeded. Returns true if the notice was delivered or dropped. */
  #recordDelivery(waiting: Waiting, why: string | undefined): boolean {
    const { clock, log, onNotice = () => undefined } = this.#parts
    const { event, id } = waiting.notice
    waiting.tries += 1
    const isLast = waiting.tries >= TRIES_MAX
    onNotice(event, why === undefined ? 'delivered' : isLast ? 'given up' : 'failed')
    if (why !== undefined && !isLast) {
      const delayMs = Math.min(RETRY_MS_MAX, this.#times.retryMs * 2 ** (waiting.tries - 1))
      waiting.dueMs = toMillis(clock.now()) + delayMs
      log.warn({ event, tries: waiting.tries, why, delayMs }, 'a notice could not be delivered; it is tried again')
      return false
    }
    if (why !== undefined) log.error({ event, tries: waiting.tries, why }, 'a notice could not be delivered: given up')
    this.#memory.waiting = this.#memory.waiting.filter(({ notice }) => notice.id !== id)
    return true
  }

  async #waitForNext(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    const [next] = this.#memory.waiting
    const dueMs = next === undefined ? Infinity : restMs(next, toMillis(clock.now()))
    const ended = new AbortController()
    const slept = clock.sleep(Math.min(this.#times.checkMs, dueMs), AbortSignal.any([signal, ended.signal]))
    await Promise.race([slept.catch(() => undefined), this.#wake.promise])
    ended.abort()
  }
}

/** Returns the milliseconds until the next try. Returns 0 if the clock was wrong (more than `RETRY_MS_MAX`). */
function restMs({ dueMs }: Waiting, nowMs: number): number {
  const ms = dueMs - nowMs
  return ms > RETRY_MS_MAX ? 0 : Math.max(0, ms)
}

/** The time limit for the receiver's response. The receiver should respond before it processes the notice. */
const ANSWER_MS_MAX = 10_000

type Delivery = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** Sends a notice. The signature covers time and body, so that the receiver recognises forged and repeated notices. */
async function deliver(
  { webhook, secret }: Pick<NotifyConfig, 'webhook' | 'secret'>,
  notice: Notice,
  { unixS, signal }: { unixS: number; signal: AbortSignal },
): Promise<Delivery> {
  const body = JSON.stringify(notice)
  const signature = createHmac('sha256', secret.reveal()).update(`${unixS}.${body}`).digest('hex')
  try {
    const response = await fetch(webhook, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tidemark',
        'tidemark-timestamp': String(unixS),
        'tidemark-signature': `v1=${signature}`,
        'tidemark-notice': notice.id,
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
    })
    await response.body?.cancel()
    if (response.ok) return { ok: true }
    const isRedirect = response.status >= 300 && response.status < 400
    return { ok: false, why: isRedirect ? `a redirect (${response.status})` : `status ${response.status}` }
  } catch (error) {
    return { ok: false, why: reasonOf(error) }
  }
}

/** Returns only a code such as ECONNREFUSED. The error's message can contain the webhook's address with its secrets. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code)
  return error instanceof Error ? error.name : 'unknown'
}
