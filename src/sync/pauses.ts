/**
 * What the service has refused for good (a scope, a permission, the credentials) is not asked for again at every run:
 * the report is paused, with the reason, until `resume`, a successful `check`, or another client or scopes
 * (product contract §5.9).
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import { type ErrorCode, SyncError } from '../errors.ts'
import type { Rooms } from './rooms.ts'

const PAUSING: readonly ErrorCode[] = ['SCOPE_MISSING', 'REPORT_FORBIDDEN', 'CREDENTIALS_REFUSED']

/** Reports that are paused, each with the error that paused it; those refused for another client are resumed. */
export async function pausedReports(rooms: Rooms): Promise<ReadonlyMap<ReportName, SyncError>> {
  const paused = await rooms.warehouse.pauses()
  const outdated = paused.filter((pause) => pause.with !== rooms.settings.identity)
  await (outdated.length === 0 ? Promise.resolve() : rooms.warehouse.resume(outdated.map((pause) => pause.report)))
  return new Map(
    paused
      .filter((pause) => pause.with === rooms.settings.identity)
      .map(({ report, code, reason, cure }) => [
        report,
        new SyncError(code as ErrorCode, `paused, nothing was asked: ${reason}`, { report, cure }),
      ]),
  )
}

/** Pauses the report when the error says that asking again is of no use. A 403 for single records is no such error. */
export async function pauseAfter(rooms: Rooms, report: ReportName, error: SyncError): Promise<void> {
  const ofRecords = error.code === 'REPORT_FORBIDDEN' && reportOf(report).perRecord !== undefined
  if (!PAUSING.includes(error.code) || ofRecords) return
  const { code, message: reason, cure } = error
  await rooms.warehouse.pause({ report, code, reason, cure, with: rooms.settings.identity }, rooms.clock.now())
}
