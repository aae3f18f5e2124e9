/** Pauses refused reports until an operator acts, or the client, its secret or its scopes change (contract §5.9). */
import { type ReportName, reportNames } from '../../schema/index.ts'
import { type ErrorCode, SyncError } from '../errors.ts'
import type { Pause } from '../warehouse/books/reportStates.ts'
import type { SyncContext, SyncSettings } from './context.ts'

const PAUSING_ERRORS: readonly ErrorCode[] = ['SCOPE_MISSING', 'REPORT_FORBIDDEN', 'CREDENTIALS_REFUSED']

export const UNTIL_RESUMED: readonly ErrorCode[] = [...PAUSING_ERRORS, 'REPORT_PAUSED']

/** Ends outdated pauses. Returns an error for each report that stays paused. */
export async function pausedReports(context: SyncContext): Promise<ReadonlyMap<ReportName, SyncError>> {
  const paused = await context.warehouse.books.pauses()
  if (paused.some(({ code }) => code === 'CREDENTIALS_REFUSED')) await context.client.readSecret()
  // A pause caused by a refusal ends when the client, secret or scopes change. An operator's pause stays.
  const stays = (pause: Pause) => pause.code === 'REPORT_PAUSED' || pause.client === clientOf(pause, context.settings)
  const outdated = paused.filter((pause) => !stays(pause))
  const names = outdated.map(({ report }) => report)
  // Keeps the pause of a report that an operator has paused in the meantime.
  if (names.length > 0) await context.warehouse.resume(names, { onlyRefused: true })
  const remaining = paused.filter(stays)
  const byReport = new Map(remaining.map((pause) => [pause.report, pausedBy(pause)]))
  // All reports use the same credentials, so a refusal of the credentials pauses all reports.
  const refused = remaining.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (refused === undefined) {
    // Another process may have ended a pause, so the next request of each report asks the service again.
    for (const report of reportNames) if (!byReport.has(report)) context.client.forgetRefusal(report)
    return byReport
  }
  return new Map(reportNames.map((report) => [report, byReport.get(report) ?? pausedBy({ ...refused, report })]))
}

/** Throws the stored error if a refusal has paused the report. For commands that send requests without a run. */
export function throwIfRefused(pauses: readonly Pause[], report: ReportName, settings: SyncSettings): void {
  const refused = pauses.filter((pause) => pause.code !== 'REPORT_PAUSED' && pause.client === clientOf(pause, settings))
  const one =
    refused.find((pause) => pause.report === report) ?? refused.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  if (one !== undefined) throw pausedBy({ ...one, report })
}

/** Identifies the client, and its secret if the secret was refused. A pause ends when this text changes. */
const clientOf = ({ code }: Pick<Pause, 'code'>, { identity, clientSecret }: SyncSettings): string =>
  code === 'CREDENTIALS_REFUSED' ? `${identity} ${clientSecret.shortHash}` : identity

class PauseError extends SyncError {}

function pausedBy({ report, code, reason, cure }: Pause): SyncError {
  const message = code === 'REPORT_PAUSED' ? reason : `nothing was asked: ${reason}`
  return new PauseError(code as ErrorCode, message, { report, cure })
}

/** Pauses the report if the service would refuse further requests, too. */
export async function pauseAfter(context: SyncContext, report: ReportName, error: SyncError): Promise<void> {
  if (!PAUSING_ERRORS.includes(error.code) || error instanceof PauseError) return
  const { code, message: reason, cure } = error
  // Does not replace an operator's pause: a pause caused by a refusal ends with the next successful `check`.
  const isByOperator = (pause: Pause) => pause.report === report && pause.code === 'REPORT_PAUSED'
  if ((await context.warehouse.books.pauses()).some(isByOperator)) return
  const client = clientOf(error, context.settings)
  await context.warehouse.pause({ report, code, reason, cure, client }, context.clock.now())
}
