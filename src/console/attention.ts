/**
 * What somebody should look at, worst first, each with why and what to do: the first thing that the page shows, and the
 * same list for machines. Pure: it follows from what the books say.
 */
import { isPerRecord } from '../../schema/index.ts'
import type { Attention, Standing } from './api/shapes.ts'
import type { PauseRow } from './books/shown.ts'
import type { AllSettings } from './backend.ts'

/** A report that is so far behind its rhythm is told of; shorter waits pass by themselves. */
const BEHIND_SECONDS_MIN = 3_600
const RHYTHMS_BEHIND = 10

const ORDER: readonly Attention['kind'][] = ['paused', 'failed', 'behind', 'rejected', 'gap', 'late']

export interface AttentionParts {
  readonly standings: readonly Standing[]
  readonly pauses: readonly PauseRow[]
  readonly settings: AllSettings
}

export function attentionOf({ standings, pauses, settings }: AttentionParts): Attention[] {
  const found = standings.flatMap((standing) => {
    if (standing.state === 'off') return []
    const pause = pauses.find(({ report }) => report === standing.report)
    if (standing.state === 'paused') return [pausedOf(standing, pause)]
    return [
      ...failedOf(standing),
      ...behindOf(standing, settings[standing.report].every),
      ...rejectedOf(standing),
      ...gapsOf(standing),
      ...lateOf(standing),
    ]
  })
  return found.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
}

function pausedOf({ report, not_running_because: because }: Standing, pause: PauseRow | undefined): Attention {
  const isByHand = pause === undefined || pause.code === 'REPORT_PAUSED'
  return {
    report,
    kind: 'paused',
    title: `${report} is paused`,
    why: pause?.reason ?? because ?? '',
    cure: isByHand ? 'Resume it when it may run again.' : pause.cure,
    urgent: !isByHand,
    action: 'resume',
  }
}

function failedOf({ report, state, error }: Standing): Attention[] {
  if (state !== 'failed' || error === null) return []
  const { code, message, cure } = error
  const why = `${message} (${code})`
  return [{ report, kind: 'failed', title: `${report} failed`, why, cure, urgent: true, action: 'sync' }]
}

function behindOf({ report, state, lag_seconds: lag }: Standing, every: string): Attention[] {
  const expected = Math.max(BEHIND_SECONDS_MIN, RHYTHMS_BEHIND * secondsOf(every))
  if (state === 'failed' || lag === null || lag <= expected) return []
  // Its mark moves only with the records that it follows.
  if (isPerRecord(report)) return []
  const why = `What was modified in the last ${spanText(lag)} is not known to be here, though it runs every ${every}.`
  const cure = 'Look at its last runs: a run that takes long, or a worker that was stopped, explains it.'
  return [
    { report, kind: 'behind', title: `${report} is ${spanText(lag)} behind`, why, cure, urgent: false, action: 'sync' },
  ]
}

function rejectedOf({ report, rejected }: Standing): Attention[] {
  if (rejected === 0) return []
  const rows = rejected === 1 ? '1 row' : `${rejected.toLocaleString('en')} rows`
  return [
    {
      report,
      kind: 'rejected',
      title: `${report}: ${rows} could not be stored`,
      why: 'Each is kept whole, with the reason; everything else was loaded.',
      cure: 'Read the reasons. Once the cause is mended, by the service or by a newer Tidemark, load them again.',
      urgent: false,
      action: 'retry-rejected',
    },
  ]
}

function gapsOf({ report, coverage }: Standing): Attention[] {
  const gaps = coverage.flatMap((scope) => (scope.reading_again === null ? scope.gaps : []))
  const [first] = gaps
  if (first === undefined) return []
  const from = first.since === null ? 'the beginning' : dayOf(first.since)
  return [
    {
      report,
      kind: 'gap',
      title: `${report} has ${gaps.length === 1 ? 'a gap' : `${gaps.length} gaps`}`,
      why: `Time that was never read whole, the first from ${from} to ${dayOf(first.until)}.`,
      cure: 'A backfill over that time closes it.',
      urgent: false,
      action: 'backfill',
    },
  ]
}

function lateOf({ report, advised_overlap: overlap, largest_lateness_seconds: seconds }: Standing): Attention[] {
  if (overlap === null || seconds === null) return []
  return [
    {
      report,
      kind: 'late',
      title: `${report}: rows come later than the overlap allows for`,
      why: `Rows were shown up to ${spanText(seconds)} after their stamp.`,
      cure: `Set reports.${report}.overlap to ${overlap}, then backfill the time before.`,
      urgent: false,
      action: 'backfill',
    },
  ]
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Of a duration such as `5m`; a cron line says nothing that could be counted. */
function secondsOf(every: string): number {
  const [, number, unit = ''] = /^(\d+)([smhd])$/.exec(every) ?? []
  return number === undefined ? 86_400 : Number(number) * (UNIT_SECONDS[unit] ?? 0)
}

function spanText(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, name] = units.find(([each]) => seconds >= 2 * each) ?? [1, 'second']
  const value = Math.round(seconds / size)
  return `${value} ${name}${value === 1 ? '' : 's'}`
}

const dayOf = (time: string): string => time.slice(0, 16).replace('T', ' ')
