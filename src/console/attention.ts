/** Finds the reports that need attention, the worst problem first. Each item contains the reason and what to do. */
import { isPerRecord } from '../../schema/index.ts'
import type { Attention } from './api/schemas.ts'
import type { Standing } from '../status/standing.ts'
import { DAY_MS } from '../instant.ts'
import type { Pause } from '../warehouse/books/books.ts'
import type { AllSettings, ReportSettings } from './backend.ts'

/** A report is late if its lag exceeds one hour, and also ten intervals between its runs. */
const BEHIND_SECONDS_MIN = 3_600
const INTERVALS_BEHIND = 10

export interface AttentionInput {
  readonly standings: readonly Standing[]
  readonly pauses: readonly Pick<Pause, 'report' | 'code' | 'reason' | 'cure'>[]
  readonly settings: AllSettings
}

export function attentionOf({ standings, pauses, settings }: AttentionInput): Attention[] {
  const found = standings.flatMap((standing) => {
    const { report, state } = standing
    if (state === 'off') return []
    const context = { pause: pauses.find((pause) => pause.report === report), settings: settings[report] }
    return (state === 'paused' ? (['paused'] as const) : KINDS).flatMap((kind) => {
      const need = NEEDS[kind](standing, context)
      return need === undefined ? [] : [{ report, kind, urgent: false, action: null, ...need }]
    })
  })
  return found.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

type Need = Pick<Attention, 'title' | 'why' | 'cure'> & Partial<Pick<Attention, 'urgent' | 'action'>>

interface Context {
  readonly pause: AttentionInput['pauses'][number] | undefined
  readonly settings: ReportSettings
}

/** The worst problem is first. Each function returns an item if the report has this problem. */
const NEEDS: Readonly<Record<Attention['kind'], (standing: Standing, context: Context) => Need | undefined>> = {
  paused: ({ report, state, not_running_because: because }, { pause }) => {
    if (state !== 'paused') return undefined
    const isByHand = pause === undefined || pause.code === 'REPORT_PAUSED'
    return {
      title: `${report} is paused`,
      why: pause?.reason ?? because ?? '',
      cure: isByHand ? 'Resume it when it may run again.' : pause.cure,
      urgent: !isByHand,
      action: 'resume',
    }
  },
  failed: ({ report, state, error }) => {
    if (state !== 'failed' || error === null) return undefined
    const why = `${error.message} (${error.code})`
    return { title: `${report} failed`, why, cure: error.cure, urgent: true, action: 'sync' }
  },
  behind: ({ report, state, lag_seconds: lag }, { settings: { every, everyMs = DAY_MS } }) => {
    const expected = Math.max(BEHIND_SECONDS_MIN, (INTERVALS_BEHIND * everyMs) / 1_000)
    if (state === 'failed' || lag === null || lag <= expected) return undefined
    // The mark of an audit report moves only when a record changes, so an old mark does not mean a lag.
    if (isPerRecord(report)) return undefined
    return {
      title: `${report} is ${spanText(lag)} behind`,
      why: `Changes of the last ${spanText(lag)} may be missing, although the report runs every ${every}.`,
      cure: 'Look at its last runs: a long run or a stopped worker explains it.',
      action: 'sync',
    }
  },
  rejected: ({ report, rejected }) => {
    if (rejected === 0) return undefined
    return {
      title: `${report}: ${rejected === 1 ? '1 row' : `${rejected.toLocaleString('en')} rows`} could not be stored`,
      why: 'Each row is kept whole, with the reason; all other rows were loaded.',
      cure: 'Read the reasons. Once the service or a newer Tidemark has fixed the cause, load them again.',
      action: 'retry-rejected',
    }
  },
  misfits: ({ report, misfits }) => {
    if (misfits === 0) return undefined
    return {
      title: `${report}: ${misfits === 1 ? '1 value does' : `${misfits.toLocaleString('en')} values do`} not fit`,
      why: 'Their columns are NULL, and the values are in _extra or _payload; tidemark.misfits lists them with the reason.',
      cure: 'Correct them in the service: a version of the row that fits ends this.',
    }
  },
  gap: ({ report, coverage }) => {
    const gaps = coverage.flatMap((scope) => (scope.reading_again === null ? scope.gaps : []))
    const [first] = gaps
    if (first === undefined) return undefined
    const from = first.since === null ? 'the beginning' : minuteOf(first.since)
    return {
      title: `${report} has ${gaps.length === 1 ? 'a gap' : `${gaps.length} gaps`}`,
      why: `Some time was never read completely; the first gap is from ${from} to ${minuteOf(first.until)}.`,
      cure: 'Run a backfill over that time.',
      action: 'backfill',
    }
  },
  late: ({ report, advised_overlap: overlap, largest_lateness_seconds: seconds }) => {
    if (overlap === null || seconds === null) return undefined
    return {
      title: `${report}: rows arrive later than the overlap allows`,
      why: `A row became visible at least ${spanText(seconds)} after its modification or creation.`,
      cure: `Set reports.${report}.overlap to ${overlap}, then backfill the time before.`,
      action: 'backfill',
    }
  },
}

const KINDS = Object.keys(NEEDS) as readonly Attention['kind'][]

/** Examples: `3 hours`, `90 minutes`. */
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

const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ')
