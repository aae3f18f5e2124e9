/**
 * Pauses: when the service refuses a report for good (an OAuth scope, a permission, the credentials), further runs
 * skip it. The pause ends with `resume`, a successful `check`, or another client or other OAuth scopes (product
 * contract §5.9).
 */
import { type ReportName, reportNames } from '../../schema/index.ts'
import { type ErrorCode, SyncError } from '../errors.ts'
import type { Pause } from '../warehouse/books/books.ts'
import type { SyncContext, SyncSettings } from './context.ts'

const PAUSING: readonly ErrorCode[] = ['SCOPE_MISSING', 'REPORT_FORBIDDEN', 'CREDENTIALS_REFUSED']

/** The errors of work whose report is paused or becomes paused by it. */
export const UNTIL_RESUMED: readonly ErrorCode[] = [...PAUSING, 'REPORT_PAUSED']

/** Returns the paused reports with their errors. Resumes those that the service refused to another client. */
export async function pausedReports(context: SyncContext): Promise<ReadonlyMap<ReportName, SyncError>> {
  const paused = await context.warehouse.pauses()
  // A pause by an operator stays. A report that was refused to another client is tried again.
  const holds = (pause: Pause) => pause.code === 'REPORT_PAUSED' || pause.with === context.settings.identity
  const outdated = paused.filter((pause) => !holds(pause))
  const names = outdated.map(({ report }) => report)
  // An operator may have paused one of them meanwhile; that pause stays.
  if (names.length > 0) await context.warehouse.resume(names, { onlyRefused: true })
  const held = paused.filter(holds)
  const byReport = new Map(held.map((pause) => [pause.report, pausedBy(pause)]))
  // All reports use the same credentials: while these are refused, no report requests a token.
  const refused = held.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (refused === undefined) {
    // Another process may have resumed a report that the service refused to this process.
    for (const report of reportNames) if (!byReport.has(report)) context.client.forgetRefusal(report)
    return byReport
  }
  return new Map(reportNames.map((report) => [report, byReport.get(report) ?? pausedBy({ ...refused, report })]))
}

/**
 * Throws the refusal of the report or of the credentials, for requests outside of a run. Ignores pauses by operators.
 */
export function refuseAgain(held: readonly Pause[], report: ReportName, { identity }: Pick<SyncSettings, 'identity'>) {
  const refused = held.filter((pause) => pause.code !== 'REPORT_PAUSED' && pause.with === identity)
  const one =
    refused.find((pause) => pause.report === report) ?? refused.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (one !== undefined) throw pausedBy({ ...one, report })
}

/** Repeats the error of a pause without a request to the service. */
class PauseError extends SyncError {}

function pausedBy({ report, code, reason, cure }: Pause): SyncError {
  const message = code === 'REPORT_PAUSED' ? reason : `nothing was asked: ${reason}`
  return new PauseError(code as ErrorCode, message, { report, cure })
}

/**
 * Pauses the report when the error shows that further requests are useless. An error that repeats a pause pauses nothing, since
 * the pause may be that of another report.
 */
export async function pauseAfter(context: SyncContext, report: ReportName, error: SyncError): Promise<void> {
  if (!PAUSING.includes(error.code) || error instanceof PauseError) return
  const { code, message: reason, cure } = error
  // A pause by an operator during the run stays, since a successful check removes only pauses by the service.
  const isByOperator = (pause: Pause) => pause.report === report && pause.code === 'REPORT_PAUSED'
  if ((await context.warehouse.pauses()).some(isByOperator)) return
  await context.warehouse.pause({ report, code, reason, cure, with: context.settings.identity }, context.clock.now())
}
