/**
 * How backfills and their plans look: tables for people, with what to do about what failed, or documents for machines.
 */
import { formatInstant } from '../../instant.ts'
import type { BackfillOutcome } from '../../sync/backfill/backfill.ts'
import type { BookedWindow, PlannedWindow } from '../../warehouse/books/backfills.ts'
import { type Column, counted, grouped, line, publishedText, table, timeText } from '../layout.ts'
import type { Planned } from './dryRun.ts'
import type { BackfillEnd, BackfillSummary } from './work.ts'

export const hasFailed = ({ ends, publishFailure }: BackfillSummary): boolean =>
  publishFailure !== undefined || ends.some(({ outcome }) => outcome?.state !== 'done')

const right = (head: string): Column => ({ head, align: 'right' })

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  { head: 'state' },
  { head: 'from' },
  { head: 'to' },
  ...['windows', 'failed', 'pages', 'rows', 'new', 'changed', 'deleted', 'rejected'].map(right),
]

export function summaryText({ ends, published, publishFailure }: BackfillSummary): string {
  const rows = ends.map(({ report, outcome }) => {
    if (outcome === undefined) return [report, 'failed', ...COLUMNS.slice(2).map(() => '')]
    const { range, figures, state } = outcome
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
  const parts = [table(COLUMNS, rows), ends.flatMap(failureLines).join('')]
  if (published !== undefined) parts.push(publishedText(published))
  if (publishFailure !== undefined)
    parts.push(
      `published copy failed: ${line(publishFailure.message)} (${publishFailure.code})\n  what to do: ${line(publishFailure.cure)}\n`,
    )
  return parts.filter((part) => part !== '').join('\n')
}

/** Failures that are listed one by one; the books have them all. */
const FAILURES_SHOWN = 5

function failureLines({ report, outcome, error }: BackfillEnd): string[] {
  if (error !== undefined)
    return [`${report} failed: ${line(error.message)} (${error.code})\n  what to do: ${line(error.cure)}\n`]
  if (outcome === undefined || outcome.state === 'done') return []
  const shown = outcome.failures.slice(0, FAILURES_SHOWN).map((window) => `${report} ${failedText(window)}\n`)
  const more = outcome.failures.length - shown.length
  const cure =
    outcome.state === 'cancelled'
      ? 'it was cancelled; what was done stays'
      : 'the same command reads the windows that are missing'
  return [
    ...shown,
    ...(more > 0 ? [`${report}: ${counted(more, 'more window')} failed\n`] : []),
    `  what to do: ${cure} (backfill ${outcome.backfillId})\n`,
  ]
}

function failedText({ number, scope, since, until, errorCode, error }: BookedWindow): string {
  const where = `${timeText(since)} to ${timeText(until)}${scope === '' ? '' : `, ${scope}`}`
  return `window ${number} (${where}) failed: ${line(error ?? '')} (${errorCode ?? 'UNEXPECTED'})`
}

export function summaryDocument({ ends, published, publishFailure }: BackfillSummary): object {
  return {
    backfills: ends.map(({ report, outcome, error }) => ({
      report,
      ...(outcome === undefined ? { state: 'failed' } : outcomeDocument(outcome)),
      ...(error !== undefined && { error: { code: error.code, message: error.message, cure: error.cure } }),
    })),
    published: published === undefined ? null : published.path,
    ...(publishFailure !== undefined && { publish_error: publishFailure }),
  }
}

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
  right('window'),
  { head: 'from' },
  { head: 'to' },
  { head: 'scope' },
  right('rows'),
  right('requests'),
]
/** Windows of one report that a plan prints; `--json` has them all. */
const WINDOWS_SHOWN = 20

export function planText(plans: readonly Planned[]): string {
  const parts = plans.map(({ named, windows, requests, planning }) => {
    const { report, backfillId, goesOn } = named
    const what = goesOn
      ? `goes on with backfill ${backfillId}: ${counted(windows.length, 'window')} left`
      : counted(windows.length, 'window')
    const more = windows.length - WINDOWS_SHOWN
    const note = more > 0 ? `… and ${counted(more, 'older window')}; --json lists all\n` : ''
    const shown = table(PLAN_COLUMNS, windows.slice(0, WINDOWS_SHOWN).map(planRow))
    const ofThem = planning > 0 ? `, ${grouped(planning)} of them to plan it` : ''
    return `${report}: ${what}, about ${counted(requests, 'request')}${ofThem}\n${shown}${note}`
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

export const planDocument = (plans: readonly Planned[]): object => ({
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
