/** Runs each enabled report once. An audit report runs after the report whose records it audits. */
import { randomUUID } from 'node:crypto'
import { isPerRecord, type ReportName, reportNames, reportOf } from '../../schema/index.ts'
import { syncAudit } from './audit/auditTrail.ts'
import { eachConcurrently } from './concurrently.ts'
import { minusMs } from '../instant.ts'
import { nothingRun, type ReportOutcome } from './reportOutcome.ts'
import { oneRun } from './oneRun.ts'
import { pausedReports } from './pauses.ts'
import type { SyncContext } from './context.ts'
import { syncReport } from './syncReport.ts'

/** More reports at once would need more memory. With fewer, reports would wait longer. */
const REPORTS_AT_ONCE = 3

/** Runs the reports that are enabled and not paused. If a report fails, its outcome contains the error. */
export async function syncAll(
  context: SyncContext,
  wanted: readonly ReportName[],
  newRunId: () => string = randomUUID,
): Promise<ReportOutcome[]> {
  await recordStates(context)
  const outcomes = new Map<ReportName, ReportOutcome>()
  const paused = await pausedReports(context)
  for (const report of wanted) {
    const { enabled, offReason } = context.settings.reports[report]
    const error = paused.get(report)
    if (!enabled) outcomes.set(report, { ...nothingRun(report), state: 'off', offReason })
    else if (error !== undefined) outcomes.set(report, { ...nothingRun(report), state: 'paused', error })
  }
  const run = async (report: ReportName) => {
    const outcome = await runOne(context, report, newRunId())
    outcomes.set(report, outcome)
    context.onOutcome?.(outcome)
  }
  const running = [...new Set(wanted)].filter((report) => !outcomes.has(report))
  const others = running.filter((report) => !isPerRecord(report))
  await eachConcurrently(others, REPORTS_AT_ONCE, run)
  await eachConcurrently(running.filter(isPerRecord), REPORTS_AT_ONCE, run)
  return wanted.flatMap((report) => outcomes.get(report) ?? [])
}

async function runOne(context: SyncContext, report: ReportName, runId: string): Promise<ReportOutcome> {
  const sync = isPerRecord(report) ? syncAudit : syncReport
  const { outcome } = await oneRun(context, { report, kind: 'incremental', runId }, () => sync(context, report, runId))
  return outcome
}

async function recordStates(context: SyncContext): Promise<void> {
  const now = context.client.serviceNow() ?? context.clock.now()
  await context.warehouse.dismissRejected({ lastSeenBefore: minusMs(now, context.settings.rejectedKeepMs) }, now)
  await context.warehouse.recordReportStates(
    reportNames.map((report) => {
      const { enabled, offReason, keepsHistory, filters } = context.settings.reports[report]
      const isFiltered = Object.keys(filters).length > 0
      const currencies = reportOf(report).currency === undefined ? [] : context.settings.currencies
      const scopes = currencies.length === 0 ? undefined : currencies
      return { report, enabled, offReason, scopes, isFiltered, history: { on: keepsHistory, now } }
    }),
  )
}
