/** Formats the table of `tidemark status`, with a line for each item that needs attention. */
import type { ReportName } from '../../schema/index.ts'
import { grouped, counted, duration, line, table, timeText, type Column } from './layout.ts'
import { offCureLines } from './wanted.ts'
import { reasonOf } from '../plan/coverage.ts'
import { settingDuration } from '../plan/lateness.ts'
import type { Span } from '../plan/spans.ts'
import type { Reread, ScopeCoverage } from '../status/coverage.ts'
import { advisedOverlap, type Lateness } from '../status/lateness.ts'
import type { Standing } from '../status/standing.ts'

const COLUMNS: readonly Column[] = [
  { head: 'report' },
  { head: 'state' },
  { head: 'mark' },
  { head: 'lag', align: 'right' },
  { head: 'last run' },
  { head: 'rows', align: 'right' },
  { head: 'deleted', align: 'right' },
  { head: 'rejected', align: 'right' },
  { head: 'misfits', align: 'right' },
]

export function standingsText(standings: readonly Standing[]): string {
  const rows = standings.map(({ report, state, mark, lagMs, lastRun, rows, deleted, rejected, misfits }) => [
    report,
    state,
    timeText(mark),
    lagMs === undefined ? '' : duration(Math.max(0, lagMs)),
    timeText(lastRun),
    ...[rows, deleted, rejected, misfits].map(grouped),
  ])
  const notes = standings.flatMap(({ report, state, because, error }) => {
    if (because !== undefined) {
      const cure =
        state === 'paused'
          ? [`  what to do: ${line(error?.cure ?? `Run: tidemark resume ${report}`)}`]
          : offCureLines(because)
      return [`${report} is ${state}: ${line(because)}`, ...cure]
    }
    if (error === undefined) return []
    return [`${report} failed: ${line(error.message)} (${error.code})`, `  what to do: ${line(error.cure)}`]
  })
  const empty = standings.flatMap(({ report, state, rows, lastRun, error, explained }) =>
    state === 'done' && rows === 0 && lastRun !== undefined && error === undefined && explained !== undefined
      ? [`${report}: ${explained}`]
      : [],
  )
  const on = standings.filter(({ state }) => state !== 'off')
  const parts = [notes, empty, on.flatMap(({ report, coverage }) => coverageLines(report, coverage)), stampLines(on)]
  const told = parts.filter((lines) => lines.length > 0).map((lines) => `\n${lines.join('\n')}\n`)
  return `${table(COLUMNS, rows)}${told.join('')}`
}

/** Returns lines about skipped records, late rows, and wrong or missing modification times. */
function stampLines(standings: readonly Standing[]): string[] {
  const lines = standings.flatMap((standing) => {
    const { report, overlapMs, futureRows = 0, unstampedRows = 0, skippedRecords } = standing
    const late = latenessLine(report, standing, overlapMs)
    return [
      ...(skippedRecords === undefined ? [] : [`${report}: skipped, and tried again by itself: ${skippedRecords}`]),
      ...(late === undefined ? [] : [late]),
      ...(futureRows === 0
        ? []
        : [`${report}: ${counted(futureRows, 'row')} held with a stamp in the future; no mark follows it`]),
      ...(unstampedRows === 0
        ? []
        : [`${report}: ${counted(unstampedRows, 'row')} held without a stamp; no mark follows them`]),
    ]
  })
  const unmeasured = standings.filter(({ lateRows, lastRun }) => lateRows === undefined && lastRun !== undefined)
  if (unmeasured.length === 0) return lines
  return [
    ...lines,
    `late rows can not be measured, for want of a stamp: ${unmeasured.map(({ report }) => report).join(', ')}`,
  ]
}

/** Maximum number of gaps in a line. Further gaps are only counted. */
const GAPS_TOLD = 3

/** Returns a line with covered time and gaps for each scope, and a line for each scope that must be read again. */
export function coverageLines(report: ReportName, scopes: readonly ScopeCoverage[]): string[] {
  return scopes.flatMap(({ scope, asked, covered, gaps, reread }) => {
    const name = scope === '' ? report : `${report} ${scope.replace(/:$/, '')}`
    const read =
      covered.length === 0
        ? []
        : [`${name}: covered ${coveredText(covered)}${gapsText(gaps)}${asked ? '' : '; not asked for any more'}`]
    return [...read, ...(reread === undefined ? [] : [`${name}: ${rereadText(reread)}`])]
  })
}

function coveredText(covered: readonly Span[]): string {
  const since = covered[0]?.since
  const until = timeText(covered.at(-1)?.until)
  return since === undefined ? `everything up to ${until}` : `${timeText(since)} … ${until}`
}

function gapsText(gaps: readonly Span[]): string {
  const told = gaps.slice(0, GAPS_TOLD).map(({ since, until }) => `; gap ${timeText(since)} – ${timeText(until)}`)
  const more = gaps.length - told.length
  return `${told.join('')}${more === 0 ? '' : `; ${grouped(more)} more`}`
}

function rereadText({ since, until, because, records }: Reread): string {
  const reason = reasonOf(because) ?? 'the configuration'
  if (records !== undefined) return `asking again about ${counted(records, 'record')} because ${reason} changed`
  const from = since === undefined ? 'everything up to' : `${timeText(since)} …`
  return `reading again ${from} ${timeText(until)} because ${reason} changed`
}

/** Returns how late rows were. Example: `rows were shown up to 7m after their stamp`. */
export const latenessText = (largestLatenessMs: number): string =>
  `rows were shown up to ${settingDuration(largestLatenessMs)} after their stamp`

/** Returns the advice with the name of the setting and its new value. */
export const overlapCure = (report: ReportName, overlap: string): string =>
  `set overlap to ${overlap} (reports.${report}.overlap, or defaults.overlap)`

/** Returns one line about a report's late rows; undefined when there are none. */
export function latenessLine(report: ReportName, lateness: Lateness, overlapMs: number): string | undefined {
  const { lateRows = 0, largestLatenessMs } = lateness
  if (lateRows === 0 || largestLatenessMs === undefined) return undefined
  const advised = advisedOverlap(lateness, overlapMs)
  const told = `${report}: ${latenessText(largestLatenessMs)}`
  if (advised !== undefined) return `${told}; ${overlapCure(report, advised)}`
  return `${told} (${counted(lateRows, 'row')}); the overlap of ${settingDuration(overlapMs)} is enough`
}
