/** Executes an incremental run of a report. The transaction that moves the mark also stores the last rows up to it. */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { SyncError } from '../errors.ts'
import { type Instant, millisBetween } from '../instant.ts'
import { previousRead, type LastWindow } from '../plan/lateness.ts'
import { marksAfter, marksFrom, marksOf } from '../plan/marks.ts'
import { type Before, nextWindow } from '../plan/window.ts'
import type { RunRecord } from '../warehouse/books/books.ts'
import { everySlice } from './everything.ts'
import { scopesOf, type SyncContext, withFence } from './context.ts'
import { addFigures, type Figures, noFigures } from './reportOutcome.ts'
import { compareCounts } from './counting.ts'
import { openCoverage, readAgain } from './refill.ts'
import { learnPaging, Reading } from './walk/reading.ts'
import { serviceClock } from './walk/serviceClock.ts'

export interface ReportRun {
  readonly runId: string
  readonly report: ReportName
  readonly startedAt: Instant
  readonly pages: number
  readonly figures: Figures
}

/** Runs the report once for each of its scopes (each currency, or ''). Throws errors from walks and loads. */
export async function syncReport(given: SyncContext, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = given.clock.now()
  const context = await withFence(given, { report, kind: 'incremental', holder: runId })
  const scopes = scopesOf(context.settings, declaration)
  const run = { runId, report, startedAt, pages: 0, figures: noFigures() }
  for (const [index, scope] of scopes.entries()) {
    const pulled = await pullScope(context, { declaration, scope, run, isLast: index === scopes.length - 1 })
    run.pages += pulled.pages
    addFigures(run.figures, pulled.figures)
  }
  return run
}

interface ScopePull {
  readonly declaration: Declaration
  readonly scope: string
  readonly run: ReportRun
  readonly isLast: boolean
}

async function pullScope(context: SyncContext, pull: ScopePull): Promise<{ pages: number; figures: Figures }> {
  const { run } = pull
  const last = await context.warehouse.books.lastWindow(run.report, pull.scope)
  const clock = await serviceClock(context, pull.declaration, { currency: pull.scope })
  // Reads our clock only now, so that the elapsed time includes the request for the service's time.
  const before = { ...last, sincePreviousRunMs: last.begunAt && millisBetween(last.begunAt, context.clock.now()) }
  await using reading = await openReading(context, pull, { before, clock })
  const refill = await openCoverage(context, reading, last.mark)
  await readChanged(reading, before, last)
  if (refill !== undefined) await readAgain(context, reading, refill)
  await learnPaging(context, reading)
  const record = () => (pull.isLast ? doneRun(context, run, reading) : undefined)
  await reading.intake.commit(record())
  // The comparison may have read late rows. They are loaded, and the record of the run is written again with them.
  if (await compareCounts(context, reading)) await reading.intake.commit(record())
  const { pages } = reading
  return { pages, figures: reading.intake.figures }
}

async function openReading(
  context: SyncContext,
  { declaration, scope, run }: ScopePull,
  { before, clock }: { readonly before: Before; readonly clock: Instant },
): Promise<Reading> {
  const config = context.settings.reports[run.report]
  if (declaration.window.required && config.start > clock)
    throw new SyncError('REQUEST_INVALID', `the start of ${run.report} is later than the service's clock`, {
      cure: 'Check start (it must not be in the future).',
    })
  const window = nextWindow(before, clock, { ...config, sinceRequired: declaration.window.required })
  const profile = await context.warehouse.books.pagingProfile({ report: run.report, pageSize: config.pageSize })
  const soFar = { pages: run.pages, rows: run.figures.rows }
  const reason = { kind: 'changes' } as const
  return new Reading(context, { declaration, config, scope, runId: run.runId, window, profile, reason, before: soFar })
}

async function readChanged(reading: Reading, before: Before, last: LastWindow): Promise<void> {
  const { declaration, window, config } = reading.plan
  const { since, until } = window
  if (since !== undefined)
    reading.intake.reason = { kind: 'changes', previousRead: previousRead(last, window.clock, config.settleMs) }
  let marks = marksFrom(before, window, { ...config, sinceRequired: declaration.window.required })
  for await (const slice of since === undefined ? everySlice(reading) : reading.window({ since, until })) {
    marks = marksAfter(marks, slice.span, reading.knownUntil)
    const { moved: value } = marks
    await reading.close(slice, {
      marks: value === undefined ? [] : marksOf(declaration).map((mark) => ({ mark, value })),
    })
  }
}

const doneRun = (context: SyncContext, run: ReportRun, last: { pages: number; rows: number }): RunRecord => ({
  ...run,
  ...run.figures,
  kind: 'incremental',
  state: 'done',
  endedAt: context.clock.now(),
  pages: run.pages + last.pages,
  rows: run.figures.rows + last.rows,
})
