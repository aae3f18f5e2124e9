/** Compares a whole report with the service. Marks rows as deleted if two consecutive reconciles do not find them. */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import type { Span } from '../plan/spans.ts'
import { NO_PREVIOUS_RUN, floorToSecond, nextWindow } from '../plan/window.ts'
import { keyText } from '../staging/scanPage.ts'
import type { OpenReconcile, ReconcileResult } from '../warehouse/load/reconcile.ts'
import { scopesOf, type SyncContext, withFence } from './context.ts'
import { readNewest, readSpans } from './allRows.ts'
import { Reading, totalNow, totalOfCreated } from './walk/reading.ts'
import { provenSlices } from './walk/provenSlices.ts'
import { readServiceTime } from './walk/serviceTime.ts'
import { type ReportRun, syncReport } from './syncReport.ts'
import { oneRun, type RunRequest } from './oneRun.ts'
import { pausedReports } from './pauses.ts'
import { nothingRun, type ReportOutcome } from './reportOutcome.ts'

export interface ReconcileOptions {
  readonly runId: string
  readonly allowMassDelete: boolean
  /** Executes the incremental run that precedes the reconcile. */
  readonly before?: () => Promise<ReportRun>
}

/** Compares all rows of a report with the service. Throws USAGE_INVALID, MASS_DELETE_STOPPED, or any error of a run. */
export async function reconcileReport(given: SyncContext, report: ReportName, options: ReconcileOptions) {
  const declaration = reportOf(report)
  if (declaration.perRecord !== undefined)
    throw new SyncError('USAGE_INVALID', `${report} is not reconciled: its entries never change`, {
      cure: 'Name a report with rows of its own, such as events or enquiries.',
      report,
    })
  const before = await (options.before?.() ?? syncReport(withoutCounting(given, report), report, options.runId))
  const context = await withFence(given, { report, kind: 'reconcile', holder: options.runId })
  const scopes = scopesOf(context.settings, declaration)
  const found = { rows: 0, missed: 0, differed: 0, absent: 0, deleted: 0 }
  let { pages } = before
  // `inserted` and `updated` count this run. `found` also counts earlier, interrupted runs of this reconcile.
  let { inserted, updated } = before.figures
  for (const scope of scopes) {
    const one = await reconcileScope(context, { declaration, scope, options })
    pages += one.pages
    for (const figure of Object.keys(found) as (keyof ReconcileResult)[]) found[figure] += one.found[figure]
    inserted += one.inserted
    updated += one.updated
  }
  const deleted = before.figures.deleted + found.deleted
  const figures = { ...before.figures, rows: found.rows, inserted, updated, deleted }
  const run = { ...before, pages, figures }
  const endedAt = context.clock.now()
  await context.warehouse.recordRun({ ...run, ...figures, kind: 'reconcile', state: 'done', endedAt })
  return { ...run, found }
}

async function reconcileScope(
  context: SyncContext,
  { declaration, scope, options }: { declaration: Declaration; scope: string; options: ReconcileOptions },
): Promise<{ pages: number; inserted: number; updated: number; found: ReconcileResult }> {
  const config = context.settings.reports[declaration.name as ReportName]
  const serviceTime = await readServiceTime(context, declaration, { currency: scope })
  const begun = {
    reconcileId: options.runId + (scope === '' ? '' : `-${scope}`),
    startedAt: floorToSecond(serviceTime),
    reached: undefined,
  }
  const { start, filters } = config
  const place = { report: declaration, scope, asked: { start, filters }, fence: context.fence }
  const open = await context.warehouse.continueOrBeginReconcile(place, begun)
  const window = nextWindow(NO_PREVIOUS_RUN, serviceTime, { ...config, sinceRequired: declaration.window.required })
  const profile = await context.warehouse.books.pagingProfile({ report: config.name, pageSize: config.pageSize })
  const { runId } = options
  const { reconcileId } = open
  const reason = { kind: 'reconcile', reconcileId } as const
  await using reading = new Reading(context, { declaration, config, scope, runId, window, profile, reason })
  const keysElsewhere = await keysBeforeStart(context, reading)
  await readAll(context, reading, open)
  const ending = { ...place, reconcileId, runId, startedAt: open.startedAt, keysElsewhere, now: context.clock.now() }
  const found = await context.warehouse.endReconcile({ ...ending, allowMassDelete: options.allowMassDelete })
  const { inserted, updated } = reading.intake.figures
  return { pages: reading.pagesRead, inserted, updated, found }
}

/** Returns keys of rows that the comparison did not read because they are older than `start`. They still exist. */
async function keysBeforeStart({ warehouse }: SyncContext, { plan, source }: Reading): Promise<readonly string[]> {
  const { declaration, scope, config } = plan
  const absent = declaration.window.required ? await warehouse.books.absentKeys(declaration.name, scope) : []
  if (absent.length === 0) return []
  // With `expand`, as all other requests of this reading: without it, the service may send more rows in a page.
  const slices = provenSlices({ ...source, rows: undefined }, [{ since: 0 as Instant, until: config.start }])
  const missing = new Set(absent)
  for await (const { keys } of slices) for (const key of keys) missing.delete(keyText(key))
  return absent.filter((key) => !missing.has(key))
}

async function readAll(context: SyncContext, reading: Reading, open: OpenReconcile): Promise<void> {
  const { declaration, window, config } = reading.plan
  const isBounded = declaration.window.required
  if (!isBounded && !reading.asksCreated) return readByPage(reading)
  const { reached } = open
  const beforeStart: Span[] = isBounded || reached !== undefined ? [] : [{ since: undefined, until: config.start }]
  const rest = { since: reached ?? config.start, until: window.until }
  await readSpans(reading, [...beforeStart, rest], window.serviceTime)
  await readNewest(context, reading, open.startedAt)
  if (isBounded) return
  const total = await totalNow(reading)
  if (total === (await context.warehouse.books.reconciledRows(open.reconcileId))) return
  // If the counts differ, rows without a creation time may be missing, because they were not read.
  if ((await totalOfCreated(reading)).kind !== 'dated') await readByPage(reading)
}

async function readByPage(reading: Reading): Promise<void> {
  const allRows = await reading.readUnbounded()
  const { serviceTime } = reading.plan.window
  await reading.close(allRows, { knownUntil: serviceTime, reached: serviceTime })
  await reading.intake.commit()
}

/** A reconcile compares every row, so the incremental run before it does not compare counts. */
function withoutCounting(context: SyncContext, report: ReportName): SyncContext {
  const { settings } = context
  const config = { ...settings.reports[report], deletesEveryMs: undefined }
  return { ...context, settings: { ...settings, reports: { ...settings.reports, [report]: config } } }
}

/** Returns no result if the report is paused or the reconcile fails. */
export async function reconcileRun(
  context: SyncContext,
  { report, ...options }: Pick<RunRequest, 'report'> & ReconcileOptions,
): Promise<{ outcome: ReportOutcome; result: ReconcileResult | undefined }> {
  const error = (await pausedReports(context)).get(report)
  if (error !== undefined) return { outcome: { ...nothingRun(report), state: 'paused', error }, result: undefined }
  const { outcome, run } = await oneRun(context, { report, kind: 'reconcile', runId: options.runId }, () =>
    reconcileReport(context, report, options),
  )
  return { outcome, result: run?.found }
}
