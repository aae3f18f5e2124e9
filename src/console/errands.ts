/** Errands are actions that the console has started. They can take hours, so the page polls their state. */
import { randomUUID } from 'node:crypto'
import type { OperationRequest } from '../operations/contract.ts'
import { type Clock, within } from '../clock.ts'
import { asSyncError } from '../errors.ts'
import { formatInstant } from '../instant.ts'
import type { Log } from '../log.ts'
import type { Errand } from './api/schemas.ts'
import type { ConsoleBackend } from './backend.ts'
import { outcomesOf, problemOf } from './outcomes.ts'

const WAIT_MS_MAX = 1_000
const ERRANDS_MAX = 50

export class Errands {
  readonly #clock: Clock
  readonly #log: Log
  readonly #errands = new Map<string, Errand>()
  readonly #closing = new AbortController()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  get(id: string): Errand | undefined {
    return this.#errands.get(id)
  }

  /** Starts the action and waits for its end, but at most `WAIT_MS_MAX`. Returns the state at that time. */
  async begin(backend: ConsoleBackend, request: OperationRequest): Promise<Errand> {
    const errand: Errand = {
      id: randomUUID(),
      what: request.do,
      reports: reportsOf(request),
      state: 'running',
      started_at: formatInstant(this.#clock.now()),
      outcomes: [],
      error: null,
    }
    this.#errands.set(errand.id, errand)
    this.#log.info({ errand: errand.id, what: errand.what, reports: errand.reports }, 'requested in the console')
    const [oldest] = this.#errands.keys()
    if (this.#errands.size > ERRANDS_MAX && oldest !== undefined) this.#errands.delete(oldest)
    const done = this.#carryOut(backend, request, errand)
    await within(WAIT_MS_MAX, this.#clock, () => done)
    return errand
  }

  close(): void {
    this.#closing.abort()
  }

  async #carryOut(backend: ConsoleBackend, request: OperationRequest, errand: Errand): Promise<void> {
    const tell = (event: object) => errand.outcomes.push(...outcomesOf(event))
    try {
      const answer = await backend.answer(request, { by: 'console', tell, signal: this.#closing.signal })
      if ('error' in answer) errand.error = problemOf(answer.error)
      else if (errand.outcomes.length === 0) errand.outcomes.push(...outcomesOf(answer.result))
    } catch (thrown) {
      errand.error = problemOf(asSyncError(thrown))
    }
    const failed = errand.error !== null || errand.outcomes.some(({ error }) => error !== null)
    errand.state = failed ? 'failed' : 'done'
    const { id, what, state, error } = errand
    this.#log.info(
      { errand: id, what, state, ...(error !== null && { code: error.code }) },
      'the work that the console requested has ended',
    )
  }
}

function reportsOf(request: OperationRequest): string[] {
  if ('reports' in request) return [...request.reports]
  return 'backfills' in request ? request.backfills.map(({ report }) => report) : []
}
