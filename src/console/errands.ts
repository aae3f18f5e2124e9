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

export interface ErrandOptions {
  readonly clock: Clock
  readonly log: Log
  readonly backendOf: () => ConsoleBackend
}

/** Returns functions that start an errand and find it again. Errands end early when `signal` aborts. */
export function openErrands({ clock, log, backendOf }: ErrandOptions, signal: AbortSignal) {
  const errands = new Map<string, Errand>()
  const carryOut = async (request: OperationRequest, errand: Errand): Promise<void> => {
    const tell = (event: object) => errand.outcomes.push(...outcomesOf(event))
    try {
      const answer = await backendOf().answer(request, { by: 'console', tell, signal })
      if ('error' in answer) errand.error = problemOf(answer.error)
      else if (errand.outcomes.length === 0) errand.outcomes.push(...outcomesOf(answer.result))
    } catch (thrown) {
      errand.error = problemOf(asSyncError(thrown))
    }
    const failed = errand.error !== null || errand.outcomes.some(({ error }) => error !== null)
    errand.state = failed ? 'failed' : 'done'
    const { id, what, state, error } = errand
    const ended = { errand: id, what, state, ...(error !== null && { code: error.code }) }
    log.info(ended, 'the work that the console requested has ended')
  }
  return {
    get: (id: string): Errand | undefined => errands.get(id),
    /** Starts the action and waits for its end, but at most `WAIT_MS_MAX`. Returns the state at that time. */
    begin: async (request: OperationRequest): Promise<Errand> => {
      const [id, what, reports] = [randomUUID(), request.do, reportsOf(request)]
      const started_at = formatInstant(clock.now())
      const errand: Errand = { id, what, reports, state: 'running', started_at, outcomes: [], error: null }
      errands.set(id, errand)
      log.info({ errand: id, what, reports }, 'requested in the console')
      const [oldest] = errands.keys()
      if (errands.size > ERRANDS_MAX && oldest !== undefined) errands.delete(oldest)
      const done = carryOut(request, errand)
      await within(WAIT_MS_MAX, clock, () => done)
      return errand
    },
  }
}

function reportsOf(request: OperationRequest): string[] {
  if ('reports' in request) return [...request.reports]
  return 'backfills' in request ? request.backfills.map(({ report }) => report) : []
}
