/** Finds what needs an operator's attention. Reports with the same cause share one item. */
import { isPerRecord, type ReportName } from '../../schema/index.ts'
import type { NextTick } from '../../jobs/queue/jobQueues.ts'
import type { Attention } from './api/schemas.ts'
import { asSyncError } from '../errors.ts'
import type { Standing } from '../status/standing.ts'
import { DAY_MS, formatInstant, fromMillis } from '../instant.ts'
import { counted, duration } from '../words.ts'
import type { Pause } from '../warehouse/books/reportStates.ts'
import type { AllSettings, ReportSettings } from './backend.ts'

/** Returns an item that names the edited settings, but not their values, which may be secret. */
export async function settingsAttention(editedKeys: () => Promise<readonly string[]>): Promise<Attention[]> {
  const keys = await editedKeys().catch((error: unknown) => [asSyncError(error).message])
  const why = `This worker still uses the settings of its start. Edited since: ${keys.join(', ')}`
  const card = { title: 'The configuration was edited', why, cure: 'Run tidemark check, then start the worker again.' }
  if (keys.length === 0) return []
  return [{ kind: 'settings', reports: [], ...card, urgent: false, action: null, next_try: null }]
}

const BEHIND_SECONDS_MIN = 3_600
const INTERVALS_BEHIND = 10

export interface AttentionInput {
  readonly standings: readonly Standing[]
  readonly pauses: readonly Pick<Pause, 'report' | 'code' | 'reason' | 'cure'>[]
  readonly settings: AllSettings
  readonly nextTicks: readonly Pick<NextTick, 'report' | 'work' | 'atMs'>[]
}

export function attentionOf({ standings, pauses, settings, nextTicks }: AttentionInput): Attention[] {
  // If the service has refused the credentials, all reports are paused, because they share the credentials.
  const refused = pauses.find(({ code }) => code === 'CREDENTIALS_REFUSED')
  const found = standings.flatMap((standing): Finding[] => {
    const { report, state } = standing
    if (state === 'off') return []
    const own = pauses.find((pause) => pause.report === report)
    const pause = own?.code === BY_HAND ? own : (refused ?? own)
    const isPaused = state === 'paused' || refused !== undefined
    return (isPaused ? (['paused'] as const) : KINDS).flatMap((kind) => {
      const need = NEEDS[kind](standing, { pause, settings: settings[report] })
      return need === undefined ? [] : [{ report, kind, urgent: false, action: null, ...need }]
    })
  })
  const causes = [...Map.groupBy(found, causeOf).values()].map((same) => attentionFor(same, nextTicks))
  return causes.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

type Finding = Omit<Attention, 'reports' | 'next_try'> & { readonly report: ReportName }

const BY_HAND = 'REPORT_PAUSED'
const SHARED = { paused: 'are paused', failed: 'failed' } as const
const isShared = (kind: Attention['kind']): kind is keyof typeof SHARED => kind in SHARED

const causeOf = ({ report, kind, why, cure }: Finding): string =>
  isShared(kind) ? [kind, ...[why, cure].map((text) => renamed(text, report, '…'))].join('\n') : `${kind} ${report}`

/** Replaces the report's name in a text, but keeps permissions such as `budgets.read`. */
const renamed = (text: string, report: ReportName, name: string): string =>
  text.replaceAll(new RegExp(`\\b${report}\\b(?!\\.\\w)`, 'g'), name)

function attentionFor(same: readonly Finding[], nextTicks: AttentionInput['nextTicks']): Attention {
  const [{ report, ...first }] = same as readonly [Finding, ...Finding[]]
  const reports = same.map((each) => each.report)
  const times = nextTicks.flatMap(({ report: each, work, atMs }) =>
    work === 'incremental' && reports.includes(each) ? atMs : [],
  )
  const hasNext = first.kind === 'failed' && times.length > 0
  const card = { ...first, reports, next_try: hasNext ? formatInstant(fromMillis(Math.min(...times))) : null }
  if (reports.length === 1 || !isShared(card.kind)) return card
  return {
    ...card,
    title: `${reports.length} reports ${SHARED[card.kind]}`,
    why: renamed(card.why, report, 'each report'),
    cure: renamed(card.cure, report, reports.join(' ')),
  }
}

type Need = Pick<Attention, 'title' | 'why' | 'cure'> & Partial<Pick<Attention, 'urgent' | 'action'>>

interface Context {
  readonly pause: AttentionInput['pauses'][number] | undefined
  readonly settings: ReportSettings
}

/** A check for each kind of problem. The worst kind is first, because the page shows the items in this order. */
const NEEDS: Readonly<Record<Attention['kind'], (standing: Standing, context: Context) => Need | undefined>> = {
  paused: ({ report, state, not_running_because: because }, { pause }) => {
    if (state !== 'paused' && pause?.code !== 'CREDENTIALS_REFUSED') return undefined
    const isByHand = pause === undefined || pause.code === BY_HAND
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
  behind: ({ report, state, lag_seconds: lag, requests }, { settings: { every, everyMs = DAY_MS } }) => {
    const expected = Math.max(BEHIND_SECONDS_MIN, (INTERVALS_BEHIND * (requests?.planned_ms ?? everyMs)) / 1_000)
    if (state === 'failed' || lag === null || lag <= expected) return undefined
    // The mark of an audit report moves only when a record changes, so an old mark is no problem.
    if (isPerRecord(report)) return undefined
    return {
      title: `${report} is ${duration(lag * 1_000)} behind`,
      why: `Changes of the last ${duration(lag * 1_000)} may be missing, although the report runs every ${every}.`,
      cure: 'Look at its last runs: a long run or a stopped worker explains it.',
      action: 'sync',
    }
  },
  rejected: ({ report, rejected }) => {
    if (rejected === 0) return undefined
    return {
      title: `${report}: ${counted(rejected, 'row')} could not be stored`,
      why: 'Each row is kept whole, with the reason; all other rows were loaded.',
      cure: 'Read the reasons. Once the service or a newer Tidemark has fixed the cause, load them again.',
      action: 'retry-rejected',
    }
  },
  misfits: ({ report, misfits }) => {
    if (misfits === 0) return undefined
    return {
      title: `${report}: ${counted(misfits, 'value')} ${misfits === 1 ? 'does' : 'do'} not fit`,
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
      why: `A row became visible at least ${duration(seconds * 1_000)} after its modification or creation.`,
      cure: `Set reports.${report}.overlap to ${overlap}, then backfill the time before.`,
      action: 'backfill',
    }
  },
  settings: () => undefined,
}

const KINDS = Object.keys(NEEDS) as readonly Attention['kind'][]

const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ')
