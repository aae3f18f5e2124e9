/** Turns finished work into counters and durations. Each label has a fixed list of values. */
import type { ClientEvent } from '../../src/client/reporting.ts'
import type { Clock } from '../../src/clock.ts'
import { type Facts, measure, type Observe, type Subject } from '../../src/observe.ts'
import type { Counters } from './metricDefinitions.ts'
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import { NOTICE_EVENTS } from '../notify/memory.ts'
import { RUN_KINDS } from '../runs/runs.ts'

/** Returns an observer that counts each piece of work when it ends. */
export function counting(counters: Counters, clock: Pick<Clock, 'monotonicMs'>): Observe {
  return (subject, work) => {
    const end = (facts: Facts, ms: number, code?: string) =>
      countWork(counters, { subject, facts, seconds: ms / 1_000, code })
    return measure(subject, work, { clock, end })
  }
}

export function countEvent({ retries, throttled }: Counters, event: ClientEvent): void {
  if (event.kind === 'retry') retries.inc({ code: event.code })
  if (event.kind === 'throttled') throttled.inc()
}

interface Work {
  readonly subject: Subject
  readonly facts: Facts
  readonly seconds: number
  /** The error code with which the work ended; undefined if it succeeded. */
  readonly code: string | undefined
}

function countWork(counters: Counters, work: Work): void {
  const { subject, facts, seconds, code } = work
  const { what, report = '' } = subject
  // Without a response there is no status. The label then contains the error code.
  const status = String(facts['status'] ?? code ?? '')
  if (what === 'run') countRun(counters, work)
  else if (what === 'token') counters.tokenRequests.inc({ status })
  else if (what === 'load') counters.loadSeconds.observe({ report }, seconds)
  else if (what === 'publish') counters.publishSeconds.observe(seconds)
  else if (what === 'request') {
    counters.requests.inc({ report, status })
    counters.requestSeconds.observe({ report }, seconds)
    counters.answerBytes.inc({ report }, Number(facts['bytes'] ?? 0))
  }
}

const OUTCOMES = { rows: 'read', inserted: 'inserted', updated: 'updated', deleted: 'deleted', rejected: 'rejected' }

function countRun({ runs, runSeconds, rows, pages, errors }: Counters, { subject, facts, seconds }: Work): void {
  const { report = '' } = subject
  const kind = String(facts['kind'])
  const state = String(facts['state'])
  runs.inc({ report, kind, state })
  runSeconds.observe({ report, kind }, seconds)
  pages.inc({ report, kind }, Number(facts['pages'] ?? 0))
  for (const [fact, outcome] of Object.entries(OUTCOMES)) rows.inc({ report, kind, outcome }, Number(facts[fact] ?? 0))
  if (state === 'failed') errors.inc({ report, code: String(facts['code']) })
}

/** HTTP statuses of failed token requests (spec §4), as values of the label `status`. */
const TOKEN_FAILURES = ['400', '401', '403', '422', '429', '500', '502', '503', '504']
const NO_ANSWER = ['SERVICE_UNREACHABLE', 'SERVICE_TIMEOUT']

/** Sets watched counters to 0: Prometheus would miss a first failure. `reports`: the enabled reports. */
export function beginAtZero(
  { runs, errors, requests, tokenRequests, notices }: Counters,
  reports: readonly ReportName[],
): void {
  for (const report of reports) {
    for (const kind of RUN_KINDS) for (const state of ['done', 'failed']) runs.inc({ report, kind, state }, 0)
    if (!isPerRecord(report)) errors.inc({ report, code: 'MASS_DELETE_STOPPED' }, 0)
    for (const status of ['200', '500', ...NO_ANSWER]) requests.inc({ report, status }, 0)
  }
  for (const status of ['200', ...TOKEN_FAILURES, ...NO_ANSWER]) tokenRequests.inc({ status }, 0)
  for (const event of NOTICE_EVENTS) notices.inc({ event, outcome: 'given up' }, 0)
}
