/** Finds conditions about which notices are sent, such as a paused report. */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { NotifyConfig, ReportConfig } from '../../src/config/config.ts'
import { advisedOverlap } from '../../src/units.ts'
import { counted } from '../../src/words.ts'
import { MINUTE_MS, toMillis } from '../../src/instant.ts'
import type { BookFigures } from '../../src/warehouse/books/bookFigures.ts'
import type { Failures, Message } from './memory.ts'

export interface Condition extends Pick<Message, 'event' | 'report' | 'code' | 'message' | 'cure'> {
  readonly key: string
}

export interface WatchedState {
  readonly figures: readonly BookFigures[]
  readonly failures: readonly Failures[]
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly nowMs: number
  /** False in the first minutes after a start, so that a late mark is not reported while the first runs catch up. */
  readonly checksLag: boolean
}

type Rules = Pick<NotifyConfig, 'lagMs' | 'failures'>

export function conditionsOf(known: WatchedState, rules: Rules): Condition[] {
  const enabled = known.figures.filter(({ report }) => known.reports[report].enabled)
  return [
    ...enabled.flatMap(pausedCondition),
    ...enabled.flatMap(brakeCondition),
    ...known.failures.flatMap((failures) => failingConditions(failures, rules)),
    ...enabled.flatMap((figures) => lateCondition(figures, known)),
    ...enabled.flatMap(missedCondition),
    ...(known.checksLag ? enabled.flatMap((figures) => lagCondition(figures, known, rules)) : []),
  ]
}

function pausedCondition({ report, pausedCode, pausedReason }: BookFigures): Condition[] {
  if (pausedReason === undefined) return []
  const cure = `Run "tidemark check" to see the cure. Then run "tidemark resume ${report}".`
  const message = `${report} is paused: ${pausedReason}`
  return [{ key: `paused ${report}`, event: 'report.paused', report, code: pausedCode, message, cure }]
}

function brakeCondition({ report, brakeMessage: message }: BookFigures): Condition[] {
  if (message === undefined) return []
  const cure = `If the service really lost the rows, run "tidemark reconcile ${report} --allow-mass-delete".`
  return [{ key: `brake ${report}`, event: 'brake.pulled', report, code: 'MASS_DELETE_STOPPED', message, cure }]
}

/** Advises a longer overlap. Reports with a modification time need none: later windows find their late rows. */
function lateCondition(figures: BookFigures, { reports }: WatchedState): Condition[] {
  const { report, lateRows, largestLatenessMs = 0 } = figures
  const overlap = advisedOverlap(largestLatenessMs, reports[report].overlapMs)
  if (overlap === undefined || reportOf(report).newerBy.length > 0) return []
  const message = `${report}: the service showed rows too late for their windows (${lateRows} in the last day)`
  const cure = `Set reports.${report}.overlap to ${overlap}. To read changes that were as late, run "tidemark reconcile ${report}".`
  return [{ key: `late ${report}`, event: 'rows.late', report, message, cure }]
}

function missedCondition({ report, missedRows }: BookFigures): Condition[] {
  if (missedRows === 0) return []
  const message = `${report}: the last reconcile found and stored ${counted(missedRows, 'row')} that no window had brought`
  const cure = `Set reports.${report}.overlap to twice the time that the service took to show them. The next reconcile looks again.`
  return [{ key: `missed ${report}`, event: 'rows.late', report, message, cure }]
}

export const isBrake = ({ code }: Pick<Failures, 'code'>): boolean => code === 'MASS_DELETE_STOPPED'

function failingConditions({ report, kind, times, code, message, cure }: Failures, rules: Rules): Condition[] {
  const details = { report, code, cure }
  if (isBrake({ code })) return [{ ...details, key: `brake ${report}`, event: 'brake.pulled', message }]
  if (times < rules.failures) return []
  const failed = `${report}: ${kind} runs failed ${times} times in a row: ${message}`
  return [{ ...details, key: `failing ${kind} ${report}`, event: 'report.failing', message: failed }]
}

const RUN_INTERVALS_BEHIND_MAX = 2

/** Reports a mark that is too old. Skips audit reports, because their mark moves only when records change. */
function lagCondition(figures: BookFigures, state: WatchedState, rules: Rules): Condition[] {
  const { report, mark, isPaused, plannedMs = 0 } = figures
  const { everyMs, settleMs } = state.reports[report]
  if (mark === undefined || isPaused || everyMs === undefined || reportOf(report).perRecord !== undefined) return []
  const limitMs = Math.max(rules.lagMs, RUN_INTERVALS_BEHIND_MAX * Math.max(everyMs, plannedMs) + settleMs)
  const lagMs = state.nowMs - toMillis(mark)
  if (lagMs <= limitMs) return []
  const [lag, allowed] = [Math.floor(lagMs / MINUTE_MS), Math.round(limitMs / MINUTE_MS)]
  const message = `${report} is ${lag} min behind the service; ${allowed} min are allowed`
  const cure = 'Run "tidemark status" to see which runs are active, wait or have failed.'
  return [{ key: `lag ${report}`, event: 'lag.exceeded', report, message, cure }]
}
