/** Adds notices, and requests the jobs that deliver them. */
import { isKnown } from '../../schema/index.ts'
import { MINUTE_MS, SECOND_MS, toMillis } from '../../src/instant.ts'
import { within } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { onAbort } from '../../src/signals.ts'
import type { BookFigures } from '../../src/warehouse/books/bookFigures.ts'
import type { RunEvent, Runs } from '../runs/runs.ts'
import { conditionsOf, isBrake } from './conditions.ts'
import { Deliveries, type DeliveriesOptions, type MessageFields } from './deliveries.ts'
import type { Failures, Message } from './memory.ts'

export interface NotifierOptions extends DeliveriesOptions {
  readonly config: Pick<Config, 'reports' | 'service' | 'notify'>
  readonly requestDelivery: (receiver: string) => Promise<void>
  readonly books: () => Promise<readonly BookFigures[]>
  readonly runs: Runs
  readonly times?: typeof TIMES
}

const TIMES = { checkMs: 30 * SECOND_MS, lagGraceMs: 5 * MINUTE_MS }

export class Notifier {
  readonly deliveries: Deliveries
  readonly #options: NotifierOptions
  /** The receivers that may have undelivered messages. At first, these are all receivers. */
  readonly #due: Set<string>
  #wake = Promise.withResolvers<void>()

  constructor(options: NotifierOptions) {
    this.#options = options
    this.deliveries = new Deliveries(options)
    this.#due = new Set(this.deliveries.receivers.map(({ name }) => name))
  }

  async run(signal: AbortSignal): Promise<void> {
    const { runs, clock, log, config, book, times = TIMES } = this.#options
    // Removes failures of disabled reports. A disabled report never runs again, so its notice would never end.
    book.memory.failures = book.memory.failures.filter((each) => isKnown(each) && config.reports[each.report].enabled)
    const unfollow = runs.follow((event) => this.#recordRun(event))
    using _stopping = onAbort(signal, () => this.#wake.resolve())
    const startedMs = clock.monotonicMs()
    try {
      while (!signal.aborted) {
        this.#wake = Promise.withResolvers<void>()
        await this.#checkConditions(clock.monotonicMs() - startedMs >= times.lagGraceMs)
        await this.#requestDue()
        await within(times.checkMs, clock, () => this.#wake.promise)
      }
    } catch (error) {
      log.error({ err: error }, 'notices are no longer sent: restart the worker')
    } finally {
      unfollow()
    }
  }

  setDue(takes: 'notices' | 'data'): void {
    for (const receiver of this.deliveries.receivers) if (receiver.takes === takes) this.#due.add(receiver.name)
    this.#wake.resolve()
  }

  async #requestDue(): Promise<void> {
    const due = [...this.#due]
    this.#due.clear()
    for (const name of due) {
      await this.#options.requestDelivery(name).catch((err: unknown) => {
        this.#due.add(name)
        this.#options.log.warn({ receiver: name, err }, 'a delivery could not be requested; it is requested again')
      })
    }
  }

  #recordRun(event: RunEvent): void {
    if (event.event !== 'ended') return
    const { kind, outcome } = event
    const { report, state, error } = outcome
    const { memory } = this.#options.book
    const { failures } = memory
    const isOfRun = (each: Failures) => each.report === report && each.kind === kind
    if (state === 'done') memory.failures = failures.filter((each) => !isOfRun(each))
    else if (state === 'failed' && error !== undefined && error.code !== 'CANCELLED' && error.code !== 'FENCED') {
      const { code, message, cure } = error
      // A different error in the next run must not resolve the notice about MASS_DELETE_STOPPED.
      const isSame = (each: Failures) => isOfRun(each) && isBrake(each) === isBrake({ code })
      const times = (failures.find(isSame)?.times ?? 0) + 1
      memory.failures = [...failures.filter((each) => !isSame(each)), { report, kind, times, code, message, cure }]
    } else return
    this.#wake.resolve()
  }

  async #checkConditions(checksLag: boolean): Promise<void> {
    const { books, config, clock, book } = this.#options
    const figures = await books().catch(() => undefined)
    if (figures === undefined || config.notify === undefined) return
    const { failures, firing } = book.memory
    const known = { figures, failures, reports: config.reports, nowMs: toMillis(clock.now()), checksLag }
    const current = new Map(conditionsOf(known, config.notify).map((condition) => [condition.key, condition]))
    for (const [condition, { key: _, ...fields }] of current) {
      if (firing[condition] === undefined) firing[condition] = this.#add({ ...fields, condition, state: 'firing' })
    }
    for (const [condition, { id: _, at: __, ...notice }] of Object.entries(firing)) {
      if (current.has(condition) || (notice.event === 'lag.exceeded' && !checksLag)) continue
      this.#add({ ...notice, state: 'resolved' })
      delete firing[condition]
    }
    await book.save()
  }

  #add(fields: MessageFields): Message {
    const { event, state, report, code, message } = fields
    const text = state === 'firing' ? message : `over: ${message}`
    this.#options.log.info({ event, state, report, code }, `notice: ${text}`)
    this.setDue('notices')
    return this.deliveries.add(fields)
  }
}
