/**
 * One incremental run of one windowed report: cut the window on the service's clock, prove it piece by piece, load what
 * came, and move the mark in the transaction that holds the last row before it.
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { type Instant, millisBetween } from '../instant.ts'
import { previousRead, type LastWindow } from '../plan/lateness.ts'
import { type Before, nextWindow } from '../plan/window.ts'
import type { RunRecord } from '../warehouse/books/books.ts'
import { readEverything } from './everything.ts'
import { withFence } from './context.ts'
import { addFigures, type Figures, noFigures } from './reportOutcome.ts'
import { Marks } from './marks.ts'
import { openCoverage } from './refill.ts'
import { type SyncContext, scopesOf } from './context.ts'
import { Scope } from './walk/scope.ts'
import { serviceClock } from './walk/serviceClock.ts'

export interface ReportRun {
  readonly runId: string
  readonly report: ReportName
  readonly startedAt: Instant
  readonly pages: number
  readonly figures: Figures
}

/** Runs the report once in each of its scopes (currencies, or one). Errors: those of walks and loads. */
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
  /** The run so far: figures of the scopes before. */
  readonly run: ReportRun
  readonly isLast: boolean
}

/** Reads what changed, then what is owed since the question changed; the last load takes the run's record along. */
async function pullScope(context: SyncContext, pull: ScopePull): Promise<{ pages: number; figures: Figures }> {
  const { run } = pull
  const last = await context.warehouse.lastWindow(run.report, pull.scope)
  const clock = await serviceClock(context, pull.declaration, { currency: pull.scope })
  // After the service's clock was asked for: what the question took has passed as well.
  const before = { ...last, agoMs: last.begunAt && millisBetween(last.begunAt, context.clock.now()) }
  await using scope = await openScope(context, pull, { before, clock })
  const marks = new Marks(scope, before)
  const refill = await openCoverage(context, scope, last.mark)
  await readChanged(scope, marks, last)
  await refill({
    everything: () => readEverything(scope, marks.forOldRows()),
    part: (span) => marks.forOldRows().read(span),
  })
  await learnSizes(context, scope)
  const { pages } = marks
  await scope.intake.commit(pull.isLast ? doneRun(context, run, { pages, rows: scope.rows }) : undefined)
  return { pages, figures: scope.intake.figures }
}

/** Cuts the window on the service's clock. */
async function openScope(
  context: SyncContext,
  { declaration, scope, run }: ScopePull,
  { before, clock }: { readonly before: Before; readonly clock: Instant },
): Promise<Scope> {
  const config = context.settings.reports[run.report]
  const window = nextWindow(before, clock, { ...config, sinceRequired: declaration.window.required })
  const sizes = await context.warehouse.pageSizes(run.report, config.pageSize)
  const soFar = { pages: run.pages, rows: run.figures.rows }
  return new Scope(context, {
    declaration,
    config,
    scope,
    runId: run.runId,
    window,
    sizes,
    before: soFar,
    source: { kind: 'changes' },
  })
}

async function readChanged(scope: Scope, marks: Marks, last: LastWindow): Promise<void> {
  const { window, config } = scope.parts
  if (window.since === undefined) return readEverything(scope, marks)
  scope.intake.source = { kind: 'changes', previousRead: previousRead(last, window.clock, config.settleMs) }
  return marks.read({ since: window.since, until: window.until })
}

async function learnSizes({ warehouse, fence }: SyncContext, { sizes, parts }: Scope): Promise<void> {
  const { name: report, pageSize } = parts.config
  if (sizes !== parts.sizes) await warehouse.learnPageSizes({ report, pageSize, knew: parts.sizes, fence }, sizes)
}

function doneRun(context: SyncContext, run: ReportRun, last: { pages: number; rows: number }): RunRecord {
  const { inserted, updated, deleted, rejected, rows } = run.figures
  return {
    runId: run.runId,
    report: run.report,
    kind: 'incremental',
    state: 'done',
    startedAt: run.startedAt,
    endedAt: context.clock.now(),
    pages: run.pages + last.pages,
    rows: rows + last.rows,
    inserted,
    updated,
    deleted,
    rejected,
  }
}
