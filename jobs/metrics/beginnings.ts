/**
 * Counters that alerts watch stand at 0 before anything is counted: Prometheus sees growth between two values only, so
 * a series that is born with the first failure would hide that failure.
 */
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import { NOTICE_EVENTS } from '../notify/conditions.ts'
import { RUN_NAMES } from '../owner/runs.ts'
import type { Instruments } from './instruments.ts'

/** What the service answers to a request for a token beside 200 (spec §4), and what stands for no answer. */
const TOKEN_FAILURES = ['400', '401', '403', '422', '429', '500', '502', '503', '504']
const NO_ANSWER = ['SERVICE_UNREACHABLE', 'SERVICE_TIMEOUT']

/** `reports` are those that run. */
export function beginAtZero(
  { runs, errors, requests, tokenRequests, notices }: Instruments,
  reports: readonly ReportName[],
): void {
  for (const report of reports) {
    for (const kind of RUN_NAMES) for (const state of ['done', 'failed']) runs.inc({ report, kind, state }, 0)
    if (!isPerRecord(report)) errors.inc({ report, code: 'MASS_DELETE_STOPPED' }, 0)
    for (const status of ['200', '500', ...NO_ANSWER]) requests.inc({ report, status }, 0)
  }
  for (const status of ['200', ...TOKEN_FAILURES, ...NO_ANSWER]) tokenRequests.inc({ status }, 0)
  for (const event of NOTICE_EVENTS) notices.inc({ event, outcome: 'given up' }, 0)
}
