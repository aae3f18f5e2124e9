/** `tidemark backfill`: reads ranges again and prints a summary. With `--dry-run`, only prints a plan. */
import { formatInstant, type Instant } from '../../instant.ts'
import type { Tidemark } from '../../library/tidemark.ts'
import type { AnswerOf, Progress } from '../../operations/contract.ts'
import type { Place } from '../../operations/perform.ts'
import type { BackfillPreview } from '../../sync/backfill/backfillPlan.ts'
import type { BookedWindow, PlannedWindow } from '../../warehouse/books/backfills.ts'
import { openOutputs, print } from '../commandOutput.ts'
import { counted, grouped, line, problemText, publishedText, table, timeText, zeroColumns } from '../layout.ts'
import { windowsText } from '../progress.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { performAndPrint, tidemarkOf } from '../performAndPrint.ts'

export interface BackfillOptions extends CommandOptions {
  readonly from?: Instant
  readonly to?: Instant
  readonly dryRun?: boolean
}

export const backfill: Action<BackfillOptions> = async (shell, options, names) => {
  const { from, to, dryRun = false, json = false } = options
  const { stop } = shell
  if (dryRun) {
    await using tidemark = tidemarkOf(shell, options, () => openOutputs(shell, options).log)
    const plans = await tidemark.planBackfill(names, { from, to, signal: stop.signal })
    return print(shell, { json }, { document: planDocument(plans), text: (width) => planText(plans, width) })
  }
  let last: Progress | undefined
  let isHere = true
  const onPlace = (place: Place) => (isHere = place === 'here')
  const onProgress = (progress: Progress) => (last = progress)
  const start = (tidemark: Tidemark, signal: AbortSignal) => tidemark.backfill(names, { from, to, signal })
  return performAndPrint(shell, { ...options, start, onPlace, onProgress }, ({ ends, published }) => ({
    failed: ends.some(({ ended }) => ended?.state !== 'done'),
    document: { backfills: ends.map(endDocument), published: published?.path ?? null },
    text: (width) => `${endsText(ends, width)}${published === undefined ? '' : `\n${publishedText(published)}`}`,
  })).catch((error: unknown) => {
    if (stop.signal.aborted && isHere && !json) shell.err.write(howToContinue(last))
    throw error
  })
}

function howToContinue({ report, backfillId, windows }: Partial<Progress> = {}): string {
  if (report === undefined || windows === undefined) return 'nothing was read yet; the same command begins again\n'
  return `${report}: ${windowsText(windows)} done; the same command goes on with backfill ${backfillId}\n`
}

type BackfillEnd = AnswerOf<'backfill'>['ends'][number]

const COLUMNS = [
  'report',
  'state',
  'from',
  'to',
  { head: 'windows', align: 'right' },
  ...zeroColumns('failed'),
  { head: 'pages', narrow: 'hide' },
  'rows read',
  'new',
  'changed',
  ...zeroColumns('deleted', 'rejected'),
] as const

function endsText(ends: readonly BackfillEnd[], width: number): string {
  const rows = ends.map(({ report, ended }) => {
    if (ended === undefined) return [report, 'failed', ...COLUMNS.slice(2).map(() => '')]
    const { range, figures, state } = ended
    const { done, windows, failed, pages, rows, inserted, updated, deleted, rejected } = figures
    const progress = `${grouped(done)}/${grouped(windows)}`
    const numbers = [failed, pages, rows, inserted, updated, deleted, rejected]
    return [report, state, timeText(range.since), timeText(range.until), progress, ...numbers]
  })
  const notes = ends.flatMap(noteLines).join('')
  return `${table(COLUMNS, rows, width)}${notes === '' ? '' : `\n${notes}`}`
}

const FAILURES_SHOWN = 5

function noteLines({ report, ended, error }: BackfillEnd): string[] {
  if (ended === undefined) return [problemText(report, error)]
  const { range, figures } = ended
  const none = `${report}: no rows were modified between ${timeText(range.since)} and ${timeText(range.until)}\n`
  if (ended.state === 'done') return figures.rows === 0 ? [none] : []
  const shown = ended.failures.slice(0, FAILURES_SHOWN).map((window) => `${report} ${failedText(window)}\n`)
  const more = ended.failures.length - shown.length
  const cure =
    ended.state === 'cancelled'
      ? 'it was cancelled; what was done stays'
      : 'the same command reads the windows that are missing'
  return [
    ...shown,
    ...(more > 0 ? [`${report}: ${counted(more, 'more window')} failed\n`] : []),
    `  what to do: ${cure} (backfill ${ended.backfillId})\n`,
  ]
}

function failedText({ number, scope, since, until, errorCode, error }: BookedWindow): string {
  const where = `${timeText(since)} to ${timeText(until)}${scope === '' ? '' : `, ${scope}`}`
  return `window ${number} (${where}) failed: ${line(error ?? '')} (${errorCode ?? 'UNEXPECTED'})`
}

function endDocument({ report, ended, error }: BackfillEnd): object {
  if (ended === undefined) {
    const { code, message, cure } = error ?? {}
    return { report, state: 'failed', error: error && { code, message, cure } }
  }
  const { backfillId, state, range, figures, failures } = ended
  return {
    report,
    backfill_id: backfillId,
    state,
    from: formatInstant(range.since),
    to: formatInstant(range.until),
    windows: figures.windows,
    windows_done: figures.done,
    windows_failed: figures.failed,
    pages: figures.pages,
    rows: figures.rows,
    new: figures.inserted,
    changed: figures.updated,
    deleted: figures.deleted,
    rejected: figures.rejected,
    failures: failures.map((window) => ({ ...placeOf(window), code: window.errorCode, message: window.error })),
  }
}

const placeOf = ({ number, scope, since, until }: BookedWindow | PlannedWindow) => ({
  window: number,
  scope,
  from: formatInstant(since),
  to: formatInstant(until),
})

const PLAN_FIGURES = ['rows to read', 'requests'].map((head) => ({ head, align: 'right' as const }))
const PLAN_COLUMNS = ['window', 'from', 'to', 'scope', ...PLAN_FIGURES]
const WINDOWS_SHOWN = 20

function planText(plans: readonly BackfillPreview[], width: number): string {
  const parts = plans.map(({ named, windows, requests, planning }) => {
    const { report, backfillId, goesOn } = named
    const what = goesOn
      ? `goes on with backfill ${backfillId}: ${counted(windows.length, 'window')} left`
      : counted(windows.length, 'window')
    const more = windows.length - WINDOWS_SHOWN
    const note = more > 0 ? `… and ${counted(more, 'older window')}; --json lists all\n` : ''
    const shown = table(PLAN_COLUMNS, windows.slice(0, WINDOWS_SHOWN).map(planRow), width)
    const ofThem = planning > 0 ? `, ${grouped(planning)} of them to plan it` : ''
    const about = windows.some(({ plannedRows }) => plannedRows === undefined) ? 'at least' : 'about'
    return `${report}: ${what}, ${about} ${counted(requests, 'request')}${ofThem}\n${shown}${note}`
  })
  return `${parts.join('\n')}\nnothing was written: this was a dry run\n`
}

const planRow = ({ number, since, until, scope, plannedRows, plannedRequests }: PlannedWindow) => [
  number,
  timeText(since),
  timeText(until),
  scope,
  plannedRows ?? 'unknown',
  plannedRows === undefined ? `${grouped(plannedRequests)} or more` : plannedRequests,
]

const planDocument = (plans: readonly BackfillPreview[]): object => ({
  dry_run: true,
  backfills: plans.map(({ named, windows, requests, planning }) => ({
    report: named.report,
    from: formatInstant(named.from),
    to: formatInstant(named.to),
    ...(named.goesOn && { backfill_id: named.backfillId }),
    requests,
    planning_requests: planning,
    windows: windows.map((window) => ({
      ...placeOf(window),
      rows: window.plannedRows ?? null,
      requests: window.plannedRequests,
    })),
  })),
})
