/** Turns what is watched into counts and durations; labels come from closed lists and nowhere else. */
import type { ClientEvent } from '../../src/client/reporting.ts'
import type { Clock } from '../../src/clock.ts'
import { asSyncError } from '../../src/errors.ts'
import type { Facts, Observe, Subject } from '../../src/observe.ts'
import type { Instruments } from './instruments.ts'

/** What counts each piece of work as it ends. */
export function counting(instruments: Instruments, clock: Pick<Clock, 'monotonicMs'>): Observe {
  return async (subject, work) => {
    const startedMs = clock.monotonicMs()
    let facts: Facts = subject.facts ?? {}
    const count = (code?: string) => {
      const seconds = (clock.monotonicMs() - startedMs) / 1_000
      countWork(instruments, { subject, facts, seconds, code })
    }
    try {
      const result = await work((told) => {
        facts = { ...facts, ...told }
      })
      count()
      return result
    } catch (error) {
      count(asSyncError(error).code)
      throw error
    }
  }
}

export function countEvent({ retries, throttled }: Instruments, event: ClientEvent): void {
  if (event.kind === 'retry') retries.inc({ code: event.code })
  if (event.kind === 'throttled') throttled.inc()
}

interface Work {
  readonly subject: Subject
  readonly facts: Facts
  readonly seconds: number
  /** Of the error that it ended with. */
  readonly code: string | undefined
}

function countWork(instruments: Instruments, work: Work): void {
  const { subject, facts, seconds, code } = work
  const { what, report = '' } = subject
  // Without an answer there is no status: the code says why.
  const status = String(facts['status'] ?? code ?? '')
  if (what === 'run') countRun(instruments, work)
  else if (what === 'token') instruments.tokenRequests.inc({ status })
  else if (what === 'load') instruments.loadSeconds.observe({ report }, seconds)
  else if (what === 'publish') instruments.publishSeconds.observe(seconds)
  else if (what === 'request') {
    instruments.requests.inc({ report, status })
    instruments.requestSeconds.observe({ report }, seconds)
    instruments.answerBytes.inc({ report }, Number(facts['bytes'] ?? 0))
  }
}

const OUTCOMES = { rows: 'read', inserted: 'inserted', updated: 'updated', deleted: 'deleted', rejected: 'rejected' }

function countRun({ runs, runSeconds, rows, pages, errors }: Instruments, { subject, facts, seconds }: Work): void {
  const { report = '' } = subject
  const kind = String(facts['kind'])
  const state = String(facts['state'])
  runs.inc({ report, kind, state })
  runSeconds.observe({ report, kind }, seconds)
  pages.inc({ report, kind }, Number(facts['pages'] ?? 0))
  for (const [fact, outcome] of Object.entries(OUTCOMES)) rows.inc({ report, kind, outcome }, Number(facts[fact] ?? 0))
  if (state === 'failed') errors.inc({ report, code: String(facts['code']) })
}
