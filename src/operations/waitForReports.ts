/** Waits until the published copy has all rows up to a time. */
import { z } from 'zod'
import { Report, type ReportName } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { DURATION, parseDuration } from '../units.ts'
import { asSyncError, usageError } from '../errors.ts'
import { formatInstant, type Instant, MINUTE_MS, minusMs, parseInstant } from '../instant.ts'
import { time } from '../status/coverage.ts'
import { type Standing, standingsOf } from '../status/standing.ts'
import { openPublished } from '../wiring/published.ts'

const LOOK_EVERY_MS = 2_000

/** The time up to which rows must be published: `until`, or `freshMs` milliseconds before now. */
export type WaitGoal = { readonly until: Instant } | { readonly freshMs: number }

export interface WaitRequest {
  readonly reports: readonly ReportName[]
  readonly goal: WaitGoal
  readonly timeoutMs: number
}

const duration = z.string().regex(DURATION)

export const WaitQuery = z.strictObject({
  report: z.union([Report, z.array(Report)]).describe('Given once for each report'),
  until: z.iso.datetime().optional().describe('Rows modified up to this time must be published'),
  fresh: duration.optional().describe('Rows must be complete up to this long ago, such as 10m'),
  timeout: duration.default('30s').describe('How long to wait, at most 5m'),
})

const QUERY_MS_MAX = 5 * MINUTE_MS

export function waitRequestOf({ report, until, fresh, timeout }: z.infer<typeof WaitQuery>): WaitRequest {
  const goal = waitGoalOf(parseInstant(until ?? ''), parseDuration(fresh ?? ''))
  return { reports: [report].flat(), goal, timeoutMs: Math.min(parseDuration(timeout) ?? 0, QUERY_MS_MAX) }
}

/** Returns the goal of a wait. Throws USAGE_INVALID unless exactly one of `until` and `freshMs` is set. */
export function waitGoalOf(until: Instant | undefined, freshMs: number | undefined): WaitGoal {
  if (until !== undefined && freshMs === undefined) return { until }
  if (freshMs !== undefined && until === undefined) return { freshMs }
  const forms = 'a time (until) or an age (fresh)'
  const cure = 'Name one of them: --until 2026-01-31T06:00:00Z or --fresh 10m; in an address, until=… or fresh=…'
  throw usageError(`wait ${until === undefined ? `needs ${forms}` : `takes ${forms}, not both`}`, cure)
}

export const Readiness = z.object({
  report: Report,
  state: z
    .enum(['complete', 'late', 'blocked'])
    .describe('blocked: the report is paused or off, so it does not become complete until somebody acts'),
  mark: time.nullable(),
  reason: z.string().nullable().describe('Why the published rows are not complete'),
})
export type Readiness = z.infer<typeof Readiness>

/** Waits until all reports are complete, a report is blocked, or `timeoutMs` has passed. */
export async function waitForReports(
  config: Config,
  { reports, goal, timeoutMs }: WaitRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Readiness[]> {
  const endsAtMs = clock.monotonicMs() + timeoutMs
  for (;;) {
    const standings = await publishedStandings(config)
    const until = 'until' in goal ? goal.until : minusMs(clock.now(), goal.freshMs)
    const found = reports.map((report) => {
      const standing = standings?.find((each) => each.report === report)
      return standing === undefined ? { ...NOTHING_PUBLISHED, report } : readinessOf(standing, until)
    })
    const leftMs = endsAtMs - clock.monotonicMs()
    const isOver = found.every(({ state }) => state === 'complete') || found.some(({ state }) => state === 'blocked')
    if (isOver || leftMs <= 0) return found
    await clock.sleep(Math.min(LOOK_EVERY_MS, leftMs), signal)
  }
}

const NOTHING_PUBLISHED = { state: 'late', mark: null, reason: 'nothing was published yet' } as const

export function readinessOf(standing: Standing, until: Instant): Readiness {
  const { report, state, mark, not_running_because: cause, error } = standing
  const missing = missingBefore(standing, formatInstant(until))
  if (missing === undefined) return { report, mark, state: 'complete', reason: null }
  const isBlocked = state === 'paused' || state === 'off'
  const more = isBlocked ? `it is ${state}: ${cause ?? 'no reason is known'}` : state === 'failed' && error?.message
  return { report, mark, state: isBlocked ? 'blocked' : 'late', reason: more ? `${missing}; ${more}` : missing }
}

/** Returns what is missing up to `until`. All times have the same format, so they are compared as text. */
function missingBefore({ mark, coverage }: Standing, until: string): string | undefined {
  if (mark === null) return 'it was never read to its end'
  if (mark < until) return `it is complete only up to ${mark}`
  for (const { gaps, reading_again: again } of coverage) {
    const open = [...gaps, ...(again === null ? [] : [again])].find(({ since }) => since === null || since < until)
    if (open !== undefined)
      return `rows modified from ${open.since ?? 'the beginning'} to ${open.until} are not read yet`
  }
  return undefined
}

async function publishedStandings(config: Config): Promise<Standing[] | undefined> {
  try {
    await using copy = await openPublished(config)
    return await standingsOf(copy, config)
  } catch (error) {
    if (asSyncError(error).code === 'WAREHOUSE_MISSING') return undefined
    throw error
  }
}
