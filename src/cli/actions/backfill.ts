/** `tidemark backfill`: reads ranges again and prints a summary. With `--dry-run`, only prints a plan. */
import { formatInstant, type Instant } from '../../instant.ts'
import type { AnswerOf, Progress } from '../../operations/contract.ts'
import { planBackfills } from '../../operations/planBackfills.ts'
import type { BackfillOutcome } from '../../sync/backfill/backfillEnd.ts'
import type { BackfillPreview } from '../../sync/backfill/backfillPlan.ts'
import { checkRange } from '../../sync/backfill/backfillRequest.ts'
import type { BookedWindow, PlannedWindow } from '../../warehouse/books/backfills.ts'
import { type CommandOptions, openOutputs, print } from '../commandOutput.ts'
import {
  type Column,
  counted,
  grouped,
  leftColumns,
  line,
  problemText,
  publishedText,
  rightColumns,
  table,
  timeText,
  zeroColumns,
  widthOf,
} from '../layout.ts'
import { windowsText } from '../progress.ts'
import { selectReports } from '../reportSelection.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'

export interface BackfillOptions extends CommandOptions {
  readonly from?: Instant
  readonly to?: Instant
  readonly dryRun?: boolean
}

export async function backfill(shell: Shell, names: readonly string[], options: BackfillOptions): Promise<ExitCode> {
  const { config, from, to, dryRun = false, ...output } = options
  const { clock, stop } = shell
  const backfills = selectReports(names, config).map((report) => ({ report, from, to }))
  const now = clock.now()
  for (const { report } of backfills) {
    const { start } = config.reports[report]
    checkRange({ report, from: from ?? start, to: to ?? now }, { start, now })
  }
  if (dryRun) {
    const { log } = openOutputs(shell, output)
    const plans = await planBackfills(backfills, { config, clock, signal: stop.signal, log })
    const { json = false } = output
    return print(shell, { json }, { failed: false, document: () => planDocument(plans), text: () => planText(plans) })
  }
  let last: Progress | undefined
  let isHere = true
  const settings = {
    config,
    output,
    onBegin: (where: 'worker' | 'here') => (isHere = where === 'here'),
    onProgress: (progress: Progress) => (last = progress),
  }
  const answer = await performFor(shell, settings, { do: 'backfill', backfills }).catch((error: unknown) => {
    if (stop.signal.aborted && isHere && output.json !== true) shell.err.write(howToContinue(last))
    throw error
  })
  return print(shell, output, {
    failed: hasFailed(answer),
    document: () => summaryDocument(answer),
    text: () => summaryText(answer, widthOf(shell.out)),
  })
}

function howToContinue({ report, backfillId, windows }: Partial<Progress> = {}): string {
  if (report === undefined || windows === undefined) return 'nothing was read yet; the same command begins again\n'
  return `${report}: ${windowsText(windows)} done; the same command goes on with backfill ${backfillId}\n`
}

type BackfillAnswer = AnswerOf<'backfill'>

const hasFailed = ({ ends, publishError }: BackfillAnswer): boolean =>
  publishError !== undefined || ends.some(({ ended }) => ended?.state !== 'done')

const COLUMNS: readonly Column[] = [
  ...leftColumns('report', 'state', 'from', 'to'),
  ...rightColumns('windows'),
  ...zeroColumns('failed'),
  { head: 'pages', align: 'right', narrow: 'hide' },
  ...rightColumns('rows read', 'new', 'changed'),
  ...zeroColumns('deleted', 'rejected'),
]

function summaryText({ ends, published, publishError }: BackfillAnswer, width: number): string {
  const rows = ends.map(({ report, ended }) => {
    if (ended === undefined) return [report, 'failed', ...COLUMNS.slice(2).map(() => '')]
    const { range, figures, state } = ended
    const { done, windows, failed, pages, inserted, updated, deleted, rejected } = figures
    const numbers = [failed, pages, figures.rows, inserted, updated, deleted, rejected].map(grouped)
    return [
      report,
      state,
      timeText(range.since),
      timeText(range.until),
      `${grouped(done)}/${grouped(windows)}`,
      ...numbers,
    ]
  })
  const parts = [table(COLUMNS, rows, width), ends.flatMap(failureLines).join('')]
  if (published !== undefined) parts.push(publishedText(published))
  parts.push(problemText('published copy', publishError))
  return parts.filter((part) => part !== '').join('\n')
}

const FAILURES_SHOWN = 5

function failureLines({ report, ended, error }: BackfillAnswer['ends'][number]): string[] {
  if (ended === undefined) return [problemText(report, error)]
  if (ended.state === 'done') return []
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

const summaryDocument = ({ ends, published, publishError }: BackfillAnswer): object => ({
  backfills: ends.map(({ report, ended, error }) => ({
    report,
    ...(ended === undefined ? { state: 'failed' } : outcomeDocument(ended)),
    ...(ended === undefined && error && { error: { code: error.code, message: error.message, cure: error.cure } }),
  })),
  published: published?.path ?? null,
  publish_error: publishError,
})

function outcomeDocument({ backfillId, state, range, figures, failures }: BackfillOutcome): object {
  return {
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
    failures: failures.map(({ number, scope, since, until, errorCode, error }) => ({
      window: number,
      scope,
      from: formatInstant(since),
      to: formatInstant(until),
      code: errorCode,
      message: error,
    })),
  }
}

const PLAN_COLUMNS: readonly Column[] = [
  ...rightColumns('window'),
  ...leftColumns('from', 'to', 'scope'),
  ...rightColumns('rows to read', 'requests'),
]
const WINDOWS_SHOWN = 20

function planText(plans: readonly BackfillPreview[]): string {
  const parts = plans.map(({ named, windows, requests, planning }) => {
    const { report, backfillId, goesOn } = named
    const what = goesOn
      ? `goes on with backfill ${backfillId}: ${counted(windows.length, 'window')} left`
      : counted(windows.length, 'window')
    const more = windows.length - WINDOWS_SHOWN
    const note = more > 0 ? `… and ${counted(more, 'older window')}; --json lists all\n` : ''
    const shown = table(PLAN_COLUMNS, windows.slice(0, WINDOWS_SHOWN).map(planRow))
    const ofThem = planning > 0 ? `, ${grouped(planning)} of them to plan it` : ''
    const about = windows.some(({ plannedRows }) => plannedRows === undefined) ? 'at least' : 'about'
    return `${report}: ${what}, ${about} ${counted(requests, 'request')}${ofThem}\n${shown}${note}`
  })
  return `${parts.join('\n')}\nnothing was written: this was a dry run\n`
}

const planRow = ({ number, since, until, scope, plannedRows, plannedRequests }: PlannedWindow): string[] => [
  grouped(number),
  timeText(since),
  timeText(until),
  scope,
  plannedRows === undefined ? 'unknown' : grouped(plannedRows),
  plannedRows === undefined ? `${grouped(plannedRequests)} or more` : grouped(plannedRequests),
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
    windows: windows.map(({ number, since, until, scope, plannedRows, plannedRequests }) => ({
      window: number,
      scope,
      from: formatInstant(since),
      to: formatInstant(until),
      rows: plannedRows ?? null,
      requests: plannedRequests,
    })),
  })),
})
