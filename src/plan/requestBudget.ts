/** Plans how often reports run, to stay within a budget of requests per day (setting `requests_per_day`). */
import type { ReportName } from '../../schema/index.ts'
import { DAY_MS, type Instant, plusMs } from '../instant.ts'

/** `kind`: the kind of the run, such as `backfill`, or `other` outside of runs. */
export type RequestEntry = { readonly report: string; readonly kind: string }

export interface RequestUse {
  readonly report: ReportName
  /** Requests in the last 24 hours. Of these, `others` were sent by work other than incremental runs. */
  readonly used: number
  readonly others: number
  /** Number of requests that a typical incremental run sends. */
  readonly cost: number
  /** Changed rows per day. */
  readonly changes: number
  /** An interrupted run does not count, because it continues at once. */
  readonly lastStart: Instant | null
}

type Limited = { readonly requestsPerDay?: number | undefined }
type ReportSettings = Limited & { readonly enabled: boolean; readonly everyMs?: number }
export type BudgetSettings = Limited & { readonly reports: Readonly<Record<ReportName, ReportSettings>> }

export const hasBudget = ({ requestsPerDay, reports }: BudgetSettings): boolean =>
  [{ requestsPerDay }, ...Object.values(reports)].some((each) => each.requestsPerDay !== undefined)

type ReportBudget = ReturnType<typeof budgetOf>[number]

/** Reserves 10 to 50 % of the budget for other work, such as backfills. */
const shareOfRuns = (limit: number, others: number): number =>
  Math.max(limit / 2, Math.min(0.9 * limit, limit - others))

const sumOf = (uses: readonly RequestUse[], figure: 'used' | 'others') =>
  uses.reduce((sum, use) => sum + use[figure], 0)

/** Returns how many times a day each report should run, so that all runs together send at most `budget` requests. */
export function planRuns(
  demands: readonly (Pick<RequestUse, 'cost' | 'changes'> & { readonly runsMax: number })[],
  budget: number,
): readonly number[] {
  // Running in proportion to √(changes / cost) keeps the mean age of changed rows as low as the budget allows.
  const runsAt = (factor: number) =>
    demands.map(({ changes, cost, runsMax }) => Math.min(runsMax, factor * Math.sqrt((1 + changes) / cost)))
  const requestsAt = (factor: number) =>
    runsAt(factor).reduce((sum, runs, n) => sum + runs * (demands[n]?.cost ?? 0), 0)
  let [low, high] = [0, FACTOR_MAX]
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = (low + high) / 2
    if (requestsAt(middle) <= budget) low = middle
    else high = middle
  }
  return runsAt(low)
}

const [FACTOR_MAX, BISECTIONS] = [1e9, 100]
/** After too many requests, the time between two runs grows by at most this factor. */
const EXCESS_MAX = 4
/** A report runs at least this often, even if that exceeds the budget. */
const RAREST_MS = 7 * DAY_MS

/**
 * Returns the plan of each report. `needed` and `forecast` are requests per day with the configured and the planned
 * times. `plannedMs` (the time between two runs) and `dueAt` (the earliest next run) are null if the configured times
 * are kept. A report with a cron line always keeps its times, but its requests count.
 */
export function budgetOf(uses: readonly RequestUse[], { requestsPerDay: budget = Infinity, reports }: BudgetSettings) {
  const demands = uses.map((use) => {
    const { enabled, everyMs, requestsPerDay: limit = Infinity } = reports[use.report]
    const others = everyMs === undefined ? use.used : use.others
    const needed = enabled && everyMs !== undefined ? (use.cost * DAY_MS) / everyMs : 0
    return { ...use, others, needed, runsMax: Math.min(needed, shareOfRuns(limit, others)) / use.cost }
  })
  const others = sumOf(demands, 'others')
  const share = shareOfRuns(budget, others)
  const excess = Math.min(EXCESS_MAX, Math.max(1, (sumOf(uses, 'used') - others) / share))
  const runs = planRuns(demands, share)
  return demands.map((each, n) => {
    const planned = ((runs[n] ?? 0) * each.cost) / excess
    const plannedMs = planned < 0.999 * each.needed ? Math.min(RAREST_MS, (DAY_MS * each.cost) / planned) : null
    const { lastStart } = each
    const dueAt = plannedMs === null ? null : lastStart && plusMs(lastStart, plannedMs - earlyMs(plannedMs))
    return { ...each, needed: each.needed + each.others, forecast: planned + each.others, plannedMs, dueAt }
  })
}

/** A run may begin this much before its planned time. Otherwise it would wait for another tick if a tick is early. */
const earlyMs = (plannedMs: number): number => Math.min(30_000, plannedMs / 20)

export function isDue(plan: readonly ReportBudget[], report: ReportName, now: Instant): boolean {
  const { dueAt } = plan.find((each) => each.report === report) ?? {}
  return !dueAt || now >= dueAt
}

/** Returns whether other work, such as a backfill, may send requests: incremental runs do not need the whole budget. */
export function hasRoom(plan: readonly ReportBudget[], { requestsPerDay: budget = Infinity }: BudgetSettings): boolean {
  const ofRuns = plan.reduce((sum, { needed, others }) => sum + needed - others, 0)
  return sumOf(plan, 'used') < budget && sumOf(plan, 'others') < Math.max(budget / 10, budget - ofRuns)
}
