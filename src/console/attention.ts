/** Returns what needs attention, worst first, each item with its reason and what to do. Pure. */
import { isPerRecord } from '../../schema/index.ts'
import type { Attention } from './api/schemas.ts'
import type { Standing } from '../status/standing.ts'
import { DAY_MS } from '../instant.ts'
import type { Pause } from '../warehouse/books/books.ts'
import type { AllSettings, ReportSettings } from './backend.ts'

/**
 * A report needs attention if its lag exceeds both one hour and `INTERVALS_BEHIND` intervals between its runs. Later
 * runs end a shorter lag without help. For a cron schedule, the interval counts as one day.
 */
const BEHIND_SECONDS_MIN = 3_600
const INTERVALS_BEHIND = 10

const ORDER: readonly Attention['kind'][] = ['paused', 'failed', 'behind', 'rejected', 'misfits', 'gap', 'late']

export interface AttentionInput {
  readonly standings: readonly Standing[]
  readonly pauses: readonly Pick<Pause, 'report' | 'code' | 'reason' | 'cure'>[]
  readonly settings: AllSettings
}

export function attentionOf({ standings, pauses, settings }: AttentionInput): Attention[] {
  const found = standings.flatMap((standing) => {
    if (standing.state === 'off') return []
    const pause = pauses.find(({ report }) => report === standing.report)
    if (standing.state === 'paused') return pausedOf(standing, pause)
    return [
      ...failedOf(standing),
      ...behindOf(standing, settings[standing.report]),
      ...rejectedOf(standing),
      ...misfitsOf(standing),
      ...gapsOf(standing),
      ...lateOf(standing),
    ]
  })
  return found.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
}

/** Returns an item that is not urgent and has no action, unless `more` differs. */
const item = (
  { report }: Pick<Standing, 'report'>,
  kind: Attention['kind'],
  more: Pick<Attention, 'title' | 'why' | 'cure'> & Partial<Attention>,
): Attention[] => [{ report, kind, urgent: false, action: null, ...more }]

function pausedOf(standing: Standing, pause: AttentionInput['pauses'][number] | undefined): Attention[] {
  const isByHand = pause === undefined || pause.code === 'REPORT_PAUSED'
  return item(standing, 'paused', {
    title: `${standing.report} is paused`,
    why: pause?.reason ?? standing.not_running_because ?? '',
    cure: isByHand ? 'Resume it when it may run again.' : pause.cure,
    urgent: !isByHand,
    action: 'resume',
  })
}

function failedOf(standing: Standing): Attention[] {
  const { report, state, error } = standing
  if (state !== 'failed' || error === null) return []
  const why = `${error.message} (${error.code})`
  return item(standing, 'failed', { title: `${report} failed`, why, cure: error.cure, urgent: true, action: 'sync' })
}

function behindOf(standing: Standing, { every, everyMs = DAY_MS }: ReportSettings): Attention[] {
  const { report, state, lag_seconds: lag } = standing
  const expected = Math.max(BEHIND_SECONDS_MIN, (INTERVALS_BEHIND * everyMs) / 1_000)
  if (state === 'failed' || lag === null || lag <= expected) return []
  // The mark of an audit report moves only when a record changes, so an old mark is no lag.
  if (isPerRecord(report)) return []
  return item(standing, 'behind', {
    title: `${report} is ${spanText(lag)} behind`,
    why: `Changes of the last ${spanText(lag)} may be missing, although the report runs every ${every}.`,
    cure: 'Look at its last runs: a long run or a stopped worker explains it.',
    action: 'sync',
  })
}

function rejectedOf(standing: Standing): Attention[] {
  const { report, rejected } = standing
  if (rejected === 0) return []
  return item(standing, 'rejected', {
    title: `${report}: ${rejected === 1 ? '1 row' : `${rejected.toLocaleString('en')} rows`} could not be stored`,
    why: 'Each row is kept whole, with the reason; all other rows were loaded.',
    cure: 'Read the reasons. Once the service or a newer Tidemark has fixed the cause, load them again.',
    action: 'retry-rejected',
  })
}

function misfitsOf(standing: Standing): Attention[] {
  const { report, misfits } = standing
  if (misfits === 0) return []
  return item(standing, 'misfits', {
    title: `${report}: ${misfits === 1 ? '1 value does' : `${misfits.toLocaleString('en')} values do`} not fit`,
    why: 'Their columns are NULL, and the values are in _extra or _payload; tidemark.misfits lists them with the reason.',
    cure: 'Correct them in the service: a version of the row that fits ends this.',
  })
}

function gapsOf(standing: Standing): Attention[] {
  const gaps = standing.coverage.flatMap((scope) => (scope.reading_again === null ? scope.gaps : []))
  const [first] = gaps
  if (first === undefined) return []
  const from = first.since === null ? 'the beginning' : dayOf(first.since)
  return item(standing, 'gap', {
    title: `${standing.report} has ${gaps.length === 1 ? 'a gap' : `${gaps.length} gaps`}`,
    why: `Some time was never read completely; the first gap is from ${from} to ${dayOf(first.until)}.`,
    cure: 'Run a backfill over that time.',
    action: 'backfill',
  })
}

function lateOf(standing: Standing): Attention[] {
  const { report, advised_overlap: overlap, largest_lateness_seconds: seconds } = standing
  if (overlap === null || seconds === null) return []
  return item(standing, 'late', {
    title: `${report}: rows arrive later than the overlap allows`,
    why: `A row became visible at least ${spanText(seconds)} after its modification or creation.`,
    cure: `Set reports.${report}.overlap to ${overlap}, then backfill the time before.`,
    action: 'backfill',
  })
}

function spanText(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, name] = units.find(([each]) => seconds >= 2 * each) ?? [1, 'second']
  const value = Math.floor(seconds / size)
  return `${value} ${name}${value === 1 ? '' : 's'}`
}

const dayOf = (time: string): string => time.slice(0, 16).replace('T', ' ')
