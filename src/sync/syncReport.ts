/**
 * One incremental run of one windowed report: cut the window on the service's clock, walk it, load what came, and move
 * the mark in the transaction of the last rows.
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import type { ReportConfig } from '../config/config.ts'
import { earliest, type Instant } from '../instant.ts'
import type { Question } from '../plan/question.ts'
import { markAfter, nextWindow, type Window } from '../plan/window.ts'
import type { ClosedWindow, RunRecord } from '../warehouse/books.ts'
import { goneKeys } from './difference.ts'
import { followersOf } from './followers.ts'
import { type Figures, Intake, noFigures } from './intake.ts'
import type { Rooms } from './rooms.ts'
import { serviceClock } from './serviceClock.ts'
import { type Walked, walk } from './walk.ts'

export interface ReportRun {
  readonly runId: string
  readonly report: ReportName
  readonly startedAt: Instant
  readonly pages: number
  readonly figures: Figures
}

/** Runs the report once in each of its scopes (currencies, or one). Errors: those of walks and loads. */
export async function syncReport(rooms: Rooms, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = rooms.clock.now()
  const scopes = declaration.currency === undefined ? [''] : rooms.settings.currencies
  const sum = { pages: 0, figures: noFigures() }
  for (const [index, scope] of scopes.entries()) {
    const isLast = index === scopes.length - 1
    const run = { runId, report, startedAt, ...sum }
    const pulled = await pullScope(rooms, { declaration, scope, run, isLast })
    sum.pages += pulled.pages
    for (const figure of Object.keys(sum.figures) as (keyof Figures)[]) sum.figures[figure] += pulled.figures[figure]
  }
  return { runId, report, startedAt, ...sum }
}

interface ScopePull {
  readonly declaration: Declaration
  /** The currency, or ''. */
  readonly scope: string
  /** The run so far: figures of the scopes before. */
  readonly run: ReportRun
  readonly isLast: boolean
}

async function pullScope(rooms: Rooms, pull: ScopePull): Promise<{ pages: number; figures: Figures }> {
  const { declaration, scope, run } = pull
  const config = rooms.settings.reports[run.report]
  const mark = await rooms.warehouse.mark(run.report, scope)
  const window = nextWindow(mark, await serviceClock(rooms, declaration, { currency: scope }), {
    ...config,
    sinceRequired: declaration.window.required,
  })
  await using intake = new Intake(rooms, {
    report: declaration,
    runId: run.runId,
    followers: followersOf(run.report, rooms.settings.reports),
    loadsAsItGoes: declaration.deletes !== 'diff',
  })
  const walks = await walkWindow(rooms, { pull, config, window, intake, isFirst: mark === undefined })
  const gone = await goneKeys(rooms, { declaration, config, scope, window, seen: walks[0] as Walked })
  const pages = sum(walks, (each) => each.pages) + gone.pages
  const reached = earliest(window.clock, ...walks.map((each) => each.firstServedAt))
  const closed = closedWindow({ ...pull, walks, pages, mark, window: { ...window, clock: reached }, config })
  await intake.finish({
    closes: [closed],
    gone: gone.keys,
    run: pull.isLast ? doneRun(rooms, run, { pages, rows: closed.rows }) : undefined,
  })
  return { pages, figures: intake.figures }
}

interface WindowWalk {
  readonly pull: ScopePull
  readonly config: ReportConfig
  readonly window: Window
  readonly intake: Intake
  readonly isFirst: boolean
}

/** Walks the window by modification and, where rows may never have been modified, by creation too. */
async function walkWindow(rooms: Rooms, { pull, config, window, intake, isFirst }: WindowWalk): Promise<Walked[]> {
  const { declaration, scope, run } = pull
  const question = questionOf(declaration, config, scope)
  // The first walk of a report that needs no lower bound goes without bounds at all: it finds every row there is.
  const isUnbounded = isFirst && window.since === undefined
  const asks: Question[] = [isUnbounded ? question : { ...question, window }]
  if (!isUnbounded && config.askCreated && declaration.created !== undefined)
    asks.push({ ...question, created: window })
  const walked: Walked[] = []
  let pages = run.pages
  let rows = run.figures.rows
  for (const ask of asks) {
    const asked = scopeColumns(declaration, scope)
    const plan = { report: declaration, question: ask, pageSize: config.pageSize, catalog: intake.catalog }
    walked.push(
      await walk(rooms, {
        ...plan,
        onPage: async (page, servedAt) => {
          await intake.add(page, servedAt, asked)
          pages += 1
          rows += page.rowCount
          rooms.onProgress({ report: run.report, pages, rows, rowsExpected: page.envelope.totalCount })
        },
      }),
    )
  }
  return walked
}

/** The question that every request of this report and scope has in common. */
export function questionOf(declaration: Declaration, config: ReportConfig, scope: string): Question {
  return {
    expand: config.expand,
    filters: config.filters,
    currency: declaration.currency === undefined ? undefined : scope,
    ...(declaration.deletes === 'diff' ? { also: { includeDeleted: true } } : {}),
  }
}

/** Columns that the question gives: the currency, where there is one. */
function scopeColumns(declaration: Declaration, scope: string): Record<string, string> {
  return declaration.currency === undefined ? {} : { target_currency: scope }
}

interface Closing extends ScopePull {
  readonly walks: readonly Walked[]
  readonly pages: number
  readonly mark: Instant | undefined
  readonly window: Window
  readonly config: ReportConfig
}

function closedWindow({ declaration, scope, walks, pages, mark, window, config }: Closing): ClosedWindow {
  const value = markAfter(mark, window, config.settleMs)
  const names = ['modified_since', ...declaration.newerBy.filter((column) => column === 'aggregate_record_modified')]
  return {
    scope,
    since: window.since,
    until: window.clock,
    proof: walks.map((each) => each.proof).join('+'),
    pages,
    rows: sum(walks, (each) => each.rows),
    totalCount: walks[0]?.totalCount,
    marks: names.map((name) => ({ mark: name, value })),
  }
}

function doneRun(rooms: Rooms, run: ReportRun, last: { pages: number; rows: number }): RunRecord {
  const { inserted, updated, deleted, rejected, rows } = run.figures
  return {
    runId: run.runId,
    report: run.report,
    kind: 'incremental',
    state: 'done',
    startedAt: run.startedAt,
    endedAt: rooms.clock.now(),
    pages: run.pages + last.pages,
    rows: rows + last.rows,
    inserted,
    updated,
    deleted,
    rejected,
  }
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0)
