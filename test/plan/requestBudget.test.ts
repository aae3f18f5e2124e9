/** A budget of requests per day: how often each report runs, and what is left to backfills. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reportNames, type ReportName } from '../../schema/index.ts'
import { DAY_MS, type Instant, MINUTE_MS, plusMs } from '../../src/instant.ts'
import {
  budgetOf,
  type BudgetSettings,
  hasRoom,
  isDue,
  planRuns,
  type RequestUse,
} from '../../src/plan/requestBudget.ts'

const demands = fc.array(
  fc.record({
    cost: fc.integer({ min: 1, max: 5_000 }),
    changes: fc.double({ min: 0, max: 1e7, noNaN: true }),
    runsMax: fc.double({ min: 0, max: 86_400, noNaN: true }),
  }),
  { minLength: 1, maxLength: 8 },
)
const budgets = fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.constant(Infinity))
type Demands = Parameters<typeof planRuns>[0]
const requestsOf = (asked: Demands, runs: readonly number[]): number =>
  runs.reduce((sum, each, n) => sum + each * (asked[n]?.cost ?? 0), 0)

describe('the runs per day', () => {
  it('never send more requests than the budget, and never exceed the configured number', () => {
    fc.assert(
      fc.property(demands, budgets, (asked, budget) => {
        const runs = planRuns(asked, budget)
        expect(requestsOf(asked, runs)).toBeLessThanOrEqual(budget * (1 + 1e-9))
        for (const [n, { runsMax }] of asked.entries()) expect(runs[n]).toBeLessThanOrEqual(runsMax)
      }),
    )
  })

  it('are the configured ones if the budget allows them, and else spend the whole budget', () => {
    fc.assert(
      fc.property(demands, budgets, (asked, budget) => {
        const runs = planRuns(asked, budget)
        const wanted = asked.map(({ runsMax }) => runsMax)
        const expected = Math.min(requestsOf(asked, wanted), budget)
        expect(Math.abs(requestsOf(asked, runs) - expected)).toBeLessThanOrEqual(expected * 1e-6)
      }),
    )
  })

  it('of no report fall when the budget grows', () => {
    fc.assert(
      fc.property(demands, fc.integer({ min: 1, max: 100_000 }), fc.nat(100_000), (asked, budget, more) => {
        const [few, many] = [planRuns(asked, budget), planRuns(asked, budget + more)]
        for (const n of asked.keys()) expect(many[n]).toBeGreaterThanOrEqual((few[n] ?? 0) * (1 - 1e-9))
      }),
    )
  })

  it('are more for the report that changes more, if all else is equal', () => {
    const cases = fc.tuple(
      fc.integer({ min: 1, max: 100 }),
      fc.nat(10_000),
      fc.nat(10_000),
      fc.integer({ min: 1, max: 5_000 }),
    )
    fc.assert(
      fc.property(cases, ([cost, quiet, more, budget]) => {
        const each = { cost, runsMax: 288 }
        const [few = 0, many = 0] = planRuns(
          [
            { ...each, changes: quiet },
            { ...each, changes: quiet + more },
          ],
          budget,
        )
        expect(many).toBeGreaterThanOrEqual(few)
      }),
    )
  })
})

const every = (ms: number) => ({ enabled: true, everyMs: ms })

const settingsOf = (
  requestsPerDay: number | undefined,
  own: Partial<BudgetSettings['reports']> = {},
): BudgetSettings => ({
  requestsPerDay,
  reports: {
    ...(Object.fromEntries(reportNames.map((name) => [name, every(5 * MINUTE_MS)])) as BudgetSettings['reports']),
    ...own,
  },
})

const use = (report: ReportName, more: Partial<RequestUse> = {}): RequestUse => ({
  report,
  used: 0,
  others: 0,
  cost: 3,
  changes: 0,
  lastStart: 1 as Instant,
  ...more,
})

const uses = (more: Partial<RequestUse> = {}) => reportNames.map((report) => use(report, more))

/** Whether a backfill may begin a window after these requests. */
const room = (requestsPerDay: number, used: number, others: number) => {
  const settings = settingsOf(requestsPerDay)
  const plan = budgetOf([use('events', { used, others }), use('budgets')], settings)
  return hasRoom(plan, settings)
}

describe('a plan', () => {
  it('without a budget leaves the configured times, and counts what they need', () => {
    const plan = budgetOf(uses(), settingsOf(undefined))
    expect(plan.map(({ plannedMs }) => plannedMs)).toEqual(reportNames.map(() => null))
    expect(plan[0]).toMatchObject({ needed: 3 * 288, forecast: 3 * 288 })
    expect(isDue(plan, 'events', 0 as Instant)).toBe(true)
  })

  it('keeps a tenth for other work, and the budget of one report makes only that report rarer', () => {
    const all = budgetOf(uses(), settingsOf(1_000))
    expect(all.reduce((sum, { forecast }) => sum + forecast, 0)).toBeCloseTo(900)
    const one = budgetOf(uses(), settingsOf(undefined, { events: { ...every(5 * MINUTE_MS), requestsPerDay: 100 } }))
    expect(one.filter(({ plannedMs }) => plannedMs !== null).map(({ report }) => report)).toEqual(['events'])
    expect(one.find(({ report }) => report === 'events')?.plannedMs).toBeCloseTo((DAY_MS * 3) / 90)
  })

  it('has no run before its planned time, and no time for a report that never ran', () => {
    const plan = budgetOf([use('events'), use('budgets', { lastStart: null })], settingsOf(100))
    const due = plan[0]?.dueAt ?? (0 as Instant)
    expect(due).toBeGreaterThan(plusMs(0 as Instant, 5 * MINUTE_MS))
    expect(isDue(plan, 'events', plusMs(due, -1))).toBe(false)
    expect(isDue(plan, 'events', due)).toBe(true)
    expect(isDue(plan, 'budgets', 0 as Instant)).toBe(true)
    expect(budgetOf(uses(), settingsOf(1))[0]?.plannedMs).toBe(7 * DAY_MS)
  })

  it('plans no report that is off or has a cron line, but counts their requests', () => {
    const { everyMs: _, ...cron } = every(0)
    const settings = settingsOf(100, { events: cron, budgets: { enabled: false, everyMs: MINUTE_MS } })
    const plan = budgetOf(uses({ used: 40 }), settings)
    expect(plan.find(({ report }) => report === 'events')).toMatchObject({ needed: 40, forecast: 40, plannedMs: null })
    expect(plan.find(({ report }) => report === 'budgets')).toMatchObject({ needed: 0, forecast: 0, plannedMs: null })
  })

  it('lets backfills begin windows only while incremental runs keep what they need, or a tenth is left', () => {
    expect(room(10_000, 5_000, 5_000)).toBe(true)
    expect(room(10_000, 9_000, 8_500)).toBe(false)
    expect(room(1_000, 500, 99)).toBe(true)
    expect(room(1_000, 500, 100)).toBe(false)
    expect(room(1_000, 1_000, 0)).toBe(false)
  })
})

interface RequestBatch {
  readonly at: number
  readonly requests: number
}

/** Five days of ticks. Returns the most requests in any 24 hours after the first day, and the longest time between runs. */
function live(budget: number, costs: readonly number[], burst: number) {
  const reports = reportNames.slice(0, costs.length)
  const off = Object.fromEntries(reportNames.slice(costs.length).map((name) => [name, { enabled: false }]))
  const settings = settingsOf(budget, off)
  const sent: (RequestBatch & { report: string })[] = reports.map((report) => ({ report, at: 0, requests: burst }))
  const last = new Map<string, number>(reports.map((report) => [report, 0]))
  let longest = 0
  for (let now = 5 * MINUTE_MS; now < 5 * DAY_MS; now += 5 * MINUTE_MS) {
    const recent = sent.filter(({ at }) => at > now - DAY_MS)
    const figures = reports.map((report, n) =>
      use(report, {
        used: recent.reduce((sum, each) => sum + (each.report === report ? each.requests : 0), 0),
        cost: costs[n] ?? 1,
        changes: n,
        lastStart: plusMs(0 as Instant, last.get(report) ?? 0),
      }),
    )
    for (const [n, report] of reports.entries()) {
      if (!isDue(budgetOf(figures, settings), report, plusMs(0 as Instant, now))) continue
      longest = Math.max(longest, now - (last.get(report) ?? 0))
      last.set(report, now)
      sent.push({ report, at: now, requests: costs[n] ?? 1 })
    }
  }
  const ofDay = (from: number) =>
    sent.reduce((sum, { at, requests }) => sum + (at > from && at <= from + DAY_MS ? requests : 0), 0)
  const most = Math.max(...Array.from({ length: 96 }, (_, hour) => ofDay(DAY_MS + (hour * DAY_MS) / 32)))
  return { most, longest }
}

describe('five days of ticks', () => {
  it('keep the budget in any 24 hours, also after a first run that exceeded it, and no report waits for ever', () => {
    for (const [budget, costs, burst] of [
      [500, [3, 3, 1], 0],
      [500, [3, 20, 1], 4_000],
      [60, [1, 1, 1], 30],
      [5_000, [1, 2, 3, 4], 0],
    ] as const) {
      const { most, longest } = live(budget, costs, burst)
      expect(most, `${budget} requests a day`).toBeLessThanOrEqual(budget)
      expect(longest).toBeLessThan(2 * DAY_MS)
    }
  })
})
