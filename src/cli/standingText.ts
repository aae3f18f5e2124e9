/** Formats the table of `tidemark status`, with a line for each item that needs attention. */
import { reportOf, type ReportName } from '../../schema/index.ts'
import type { Config, OffReason } from '../config/config.ts'
import { counted, duration, grouped, line, problemsText, table, wholeSeconds, zeroColumns } from './layout.ts'
import { settingDuration } from '../units.ts'
import { changesText } from '../plan/coverage.ts'
import type { ScopeCoverage } from '../status/coverage.ts'
import type { Standing } from '../status/standing.ts'

type Span = ScopeCoverage['covered'][number]

const COLUMNS = [
  'report',
  'state',
  'mark',
  { head: 'lag', align: 'right' },
  { head: 'last run', narrow: 'hide' },
  'rows',
  { head: 'deleted', narrow: 'hide' },
  ...zeroColumns('rejected', 'misfits'),
] as const

export function standingsText(standings: readonly Standing[], settings: Config['reports'], width: number): string {
  const rows = standings.map(({ report, state, mark, lag_seconds: lag, last_run: lastRun, ...figures }) => [
    report,
    state,
    wholeSeconds(mark),
    lag === null ? '' : duration(Math.max(0, lag * 1_000)),
    wholeSeconds(lastRun),
    figures.rows,
    figures.deleted,
    figures.rejected,
    figures.misfits,
  ])
  const failures = standings.flatMap(({ report, not_running_because: because, error }) =>
    because === null ? [{ report, error }] : [],
  )
  const stopped = standings.flatMap(({ report, state, not_running_because: because, error }) => {
    if (because === null) return []
    const cure =
      state === 'paused'
        ? [`  what to do: ${line(error?.cure ?? `Run: tidemark resume ${report}`)}`]
        : offCureLines(because)
    return [`${report} is ${state}: ${line(because)}`, ...cure]
  })
  const notes = [...stopped, problemsText(failures).trimEnd()].filter((text) => text !== '')
  const empty = standings.flatMap(({ report, state, rows, error, explained }) =>
    state === 'done' && rows === 0 && error === null && explained !== null ? [`${report}: ${explained}`] : [],
  )
  const on = standings.filter(({ state }) => state !== 'off')
  const coverage = on.flatMap(({ report, coverage }) => coverageLines(report, coverage))
  const parts = [notes, empty, coverage, stampLines(on, settings)].filter((lines) => lines.length > 0)
  return `${table(COLUMNS, rows, width)}${parts.map((lines) => `\n${lines.join('\n')}\n`).join('')}`
}

const MISSING_CURES: Partial<Record<OffReason, string>> = {
  'no currencies are configured': 'Set currencies, such as [EUR], in tidemark.yaml (or TIDEMARK_CURRENCIES).',
  'no entities are configured':
    "Ask the service's owner for its numbers of audited records; set reports.audit_entries.entities in tidemark.yaml.",
}

export function offCureLines(reason: string | undefined): readonly string[] {
  const cure = MISSING_CURES[reason as OffReason]
  return cure === undefined ? [] : [`  what to do: ${cure}`]
}

function stampLines(standings: readonly Standing[], settings: Config['reports']): string[] {
  const lines = standings.flatMap((standing) => {
    const { report, future_rows: future, unstamped_rows: unstamped, skipped_records: skipped } = standing
    const { not_counted_because: stopped, rejected } = standing
    const notes = [
      rejected > 0 && rejectedText(report, rejected),
      skipped !== null && `skipped, and tried again by itself: ${skipped}`,
      stopped !== null &&
        `rows are not counted for a day, so late rows and deletions wait for a reconcile: ${line(stopped)}`,
      ...latenessTexts(standing, settings[report].overlapMs),
      held(future, 'with a stamp in the future; no mark follows it'),
      held(unstamped, 'without a stamp; no mark follows them'),
    ]
    return notes.filter((note) => note !== false && note !== undefined).map((note) => `${report}: ${note}`)
  })
  const unmeasured = standings.filter(({ late_rows: late, last_run: lastRun }) => late === null && lastRun !== null)
  if (unmeasured.length === 0) return lines
  return [...lines, `no run notices late rows of: ${unmeasured.map(({ report }) => report).join(', ')}`]
}

const held = (rows: number | null, what: string) => rows !== null && rows > 0 && `${counted(rows, 'row')} held ${what}`

const rejectedText = (report: ReportName, rows: number): string =>
  `${counted(rows, 'row')} could not be stored; tidemark.rejected_rows has the reasons, "tidemark retry-rejected ${report}" tries again`

const GAPS_SHOWN = 3

function coverageLines(report: ReportName, scopes: readonly ScopeCoverage[]): string[] {
  return scopes.flatMap(({ scope, asked, covered, gaps, reading_again: again }) => {
    const name = scope === '' ? report : `${report} ${scope.replace(/:$/, '')}`
    const read =
      covered.length === 0
        ? []
        : [`${name}: covered ${coveredText(covered)}${gapsText(gaps)}${asked ? '' : '; no longer requested'}`]
    return [...read, ...(again === null ? [] : [`${name}: ${againText(again)}`])]
  })
}

function coveredText(covered: readonly Span[]): string {
  const since = covered[0]?.since ?? null
  const until = wholeSeconds(covered.at(-1)?.until ?? null)
  return since === null ? `everything up to ${until}` : `${wholeSeconds(since)} … ${until}`
}

function gapsText(gaps: readonly Span[]): string {
  const told = gaps
    .slice(0, GAPS_SHOWN)
    .map(({ since, until }) => `; gap ${wholeSeconds(since)} – ${wholeSeconds(until)}`)
  const more = gaps.length - told.length
  return `${told.join('')}${more === 0 ? '' : `; ${grouped(more)} more`}`
}

function againText({ since, until, because, records }: NonNullable<ScopeCoverage['reading_again']>): string {
  const reason = because.includes('reset')
    ? 'after a reset'
    : `because ${changesText(because) ?? 'the configuration'} changed`
  if (records !== null) return `reading the trails of ${counted(records, 'record')} again ${reason}`
  const from = since === null ? 'everything up to' : `${wholeSeconds(since)} …`
  return `reading again ${from} ${wholeSeconds(until)} ${reason}`
}

/** Returns, for example, `one was shown at least 7 min after its stamp`. */
export const latenessText = (report: ReportName, atLeastMs: number): string =>
  `one was shown at least ${duration(atLeastMs)} after its ${reportOf(report).newerBy.length > 0 ? 'stamp' : 'creation'}`

export const overlapAdvice = (report: ReportName, overlap: string): string =>
  `set overlap to ${overlap} (reports.${report}.overlap, or defaults.overlap)`

type ReconcileCounts = Pick<Standing, 'reconcile_missed' | 'reconcile_differed'>

/** Returns undefined if the last reconcile found only what earlier runs had read. */
export function missedText({ reconcile_missed: missed, reconcile_differed: differed }: ReconcileCounts) {
  const read = missed ? `read ${counted(missed, 'row')} that no earlier run had found` : undefined
  const corrected = differed ? `corrected ${counted(differed, 'row')} whose edit no earlier run had read` : undefined
  const found = [read, corrected].filter((each) => each !== undefined)
  return found.length === 0 ? undefined : `the last reconcile ${found.join(' and ')}`
}

function latenessTexts(standing: Standing, overlapMs: number): (string | undefined)[] {
  const { report, late_rows: rows, largest_lateness_seconds: seconds, advised_overlap: advised } = standing
  const missed = missedText(standing)
  if (rows === null || rows === 0 || seconds === null) return [missed]
  const enough = `the overlap of ${settingDuration(overlapMs)} is enough`
  const cure = advised === null ? enough : overlapAdvice(report, advised)
  return [missed, `${counted(rows, 'row')} came late; ${latenessText(report, seconds * 1_000)}; ${cure}`]
}
