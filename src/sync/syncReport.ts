/** Executes an incremental run of a report. One transaction stores the last rows and moves the high-water mark. */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { SyncError } from '../errors.ts'
import { type Instant, millisBetween } from '../instant.ts'
import { previousRead, type LastWindow } from '../plan/lateness.ts'
import { markAfterSlice, markAtStart, markNamesOf } from '../plan/marks.ts'
import { nextWindow, type PreviousRun } from '../plan/window.ts'
import type { RunRecord } from '../warehouse/books/runs.ts'
import { readAllRows } from './allRows.ts'
import { scopesOf, type SyncContext, withFence } from './context.ts'
import { addFigures, type Figures, noFigures } from './reportOutcome.ts'
import { compareCounts } from './counting.ts'
import { openCoverage, readAgain } from './refill.ts'
import { learnPaging, Reading } from './walk/reading.ts'
import { readServiceTime } from './walk/serviceTime.ts'

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
  for (const scope of scopes) {
    const { pages, figures } = await syncScope(context, { declaration, scope, run, isLast: scope === scopes.at(-1) })
    run.pages += pages
    addFigures(run.figures, figures)
  }
  return run
}

interface ScopeRun {
  readonly declaration: Declaration
  readonly scope: string
  /** What the run has read in earlier scopes. */
  readonly run: ReportRun
  readonly isLast: boolean
}

async function syncScope(context: SyncContext, { declaration, scope, run, isLast }: ScopeRun) {
  const { books } = context.warehouse
  const config = context.settings.reports[run.report]
  const last = await books.lastWindow(run.report, scope)
  const serviceTime = await readServiceTime(context, declaration, { currency: scope })
  if (declaration.window.required && config.start > serviceTime)
    throw new SyncError('REQUEST_INVALID', `the start of ${run.report} is later than the service's clock`, {
      cure: 'Check start (it must not be in the future).',
    })
  // Reads our clock only now, so that the elapsed time includes the request for the service's time.
  const previous = { ...last, elapsedMs: last.begunAt && millisBetween(last.begunAt, context.clock.now()) }
  const window = nextWindow(previous, serviceTime, { ...config, sinceRequired: declaration.window.required })
  const profile = await books.pagingProfile({ report: run.report, pageSize: config.pageSize })
  const reason = { kind: 'changes' } as const
  const plan = { declaration, config, scope, runId: run.runId, window, profile, reason, runSoFar: run }
  await using reading = new Reading(context, plan)
  const refill = await openCoverage(context, reading, previous.mark)
  await readChanges(reading, previous)
  if (refill !== undefined) await readAgain(context, reading, refill)
  await learnPaging(context, reading)
  const record = () => (isLast ? doneRun(context, run, reading) : undefined)
  await reading.intake.commit(record())
  // The comparison may have read late rows. Loads them, and writes the record of the run again, which counts them.
  if (await compareCounts(context, reading)) await reading.intake.commit(record())
  return { pages: reading.pagesRead, figures: reading.intake.figures }
}

async function readChanges(reading: Reading, previous: LastWindow & PreviousRun): Promise<void> {
  const { declaration, window, config } = reading.plan
  const { since, until, serviceTime } = window
  if (since !== undefined)
    reading.intake.reason = { kind: 'changes', previousRead: previousRead(previous, serviceTime, config.settleMs) }
  let progress = markAtStart(previous, window, { ...config, sinceRequired: declaration.window.required })
  for await (const slice of since === undefined ? [await readAllRows(reading)] : reading.window({ since, until })) {
    progress = markAfterSlice(progress, slice.span, reading.knownUntil)
    const value = progress.markToStore
    const marks = value === undefined ? [] : markNamesOf(declaration).map((mark) => ({ mark, value }))
    await reading.close(slice, { marks })
  }
}

const doneRun = (context: SyncContext, run: ReportRun, reading: Reading): RunRecord => ({
  ...run,
  ...run.figures,
  kind: 'incremental',
  state: 'done',
  endedAt: context.clock.now(),
  pages: run.pages + reading.pagesRead,
  rows: run.figures.rows + reading.rows,
})
