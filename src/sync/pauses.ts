/**
 * What the service has refused for good (a scope, a permission, the credentials) is not asked for again at every run:
 * the report is paused, with the reason, until `resume`, a successful `check`, or another client or scopes
 * (product contract §5.9).
 */
import { type ReportName, reportNames, reportOf } from '../../schema/index.ts'
import { type ErrorCode, SyncError } from '../errors.ts'
import type { Pause } from '../warehouse/books/books.ts'
import type { SyncContext, SyncSettings } from './context.ts'

const PAUSING: readonly ErrorCode[] = ['SCOPE_MISSING', 'REPORT_FORBIDDEN', 'CREDENTIALS_REFUSED']

/** What work ends in while its report is paused, or that pauses it. */
export const UNTIL_RESUMED: readonly ErrorCode[] = [...PAUSING, 'REPORT_PAUSED']

/** Reports that are paused, each with the error that paused it; those refused for another client are resumed. */
export async function pausedReports(context: SyncContext): Promise<ReadonlyMap<ReportName, SyncError>> {
  const paused = await context.warehouse.pauses()
  // What an operator paused stays paused; what was refused to another client is tried again.
  const holds = (pause: Pause) => pause.code === 'REPORT_PAUSED' || pause.with === context.settings.identity
  const outdated = paused.filter((pause) => !holds(pause))
  const names = outdated.map(({ report }) => report)
  // An operator may have paused one meanwhile.
  if (names.length > 0) await context.warehouse.resume(names, { onlyRefused: true })
  const held = paused.filter(holds)
  const byReport = new Map(held.map((pause) => [pause.report, pausedBy(pause)]))
  // The credentials are everybody's: while they are refused, no report asks for a token.
  const refused = held.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (refused === undefined) {
    // Another process may have resumed one that the service refused to this one.
    for (const report of reportNames) if (!byReport.has(report)) context.client.forgetRefusal(report)
    return byReport
  }
  return new Map(reportNames.map((report) => [report, byReport.get(report) ?? pausedBy({ ...refused, report })]))
}

/**
 * Throws what the service has refused to this client of the report, or of all: for a question that no run asks. What an
 * operator paused may still be asked about.
 */
export function refuseAgain(held: readonly Pause[], report: ReportName, { identity }: Pick<SyncSettings, 'identity'>) {
  const refused = held.filter((pause) => pause.code !== 'REPORT_PAUSED' && pause.with === identity)
  const one =
    refused.find((pause) => pause.report === report) ?? refused.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (one !== undefined) throw pausedBy({ ...one, report })
}

/** Repeats why a report is paused; nothing was asked meanwhile. */
class PauseError extends SyncError {}

function pausedBy({ report, code, reason, cure }: Pause): SyncError {
  const message = code === 'REPORT_PAUSED' ? reason : `nothing was asked: ${reason}`
  return new PauseError(code as ErrorCode, message, { report, cure })
}

/**
 * Pauses the report when the error says that asking again is of no use. A 403 for single records is no such error, nor
 * is one that only repeats a pause: a backfill that met it would pause its report for what another one was refused.
 */
export async function pauseAfter(context: SyncContext, report: ReportName, error: SyncError): Promise<void> {
  const ofRecords = error.code === 'REPORT_FORBIDDEN' && reportOf(report).perRecord !== undefined
  if (!PAUSING.includes(error.code) || ofRecords || error instanceof PauseError) return
  const { code, message: reason, cure } = error
  // An operator may have paused it while it ran: their word stays, since a check lifts what the service refused.
  const isByOperator = (pause: Pause) => pause.report === report && pause.code === 'REPORT_PAUSED'
  if ((await context.warehouse.pauses()).some(isByOperator)) return
  await context.warehouse.pause({ report, code, reason, cure, with: context.settings.identity }, context.clock.now())
}
