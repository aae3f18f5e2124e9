/** Describes the number of requests in 24 hours and the effect of a budget. */
import type { BudgetSettings } from '../plan/requestBudget.ts'
import { counted, duration, grouped } from '../words.ts'
import type { Standing } from './standing.ts'

export function budgetText(
  standings: readonly Standing[],
  budget: Pick<BudgetSettings, 'requestsPerDay'>,
  settings: Readonly<Record<string, { readonly every: string }>>,
): { readonly use: string; readonly effect: readonly string[] } | undefined {
  const figures = standings.flatMap(({ requests }) => requests ?? [])
  if (figures.length === 0) return undefined
  const { requestsPerDay: limit = Infinity } = budget
  const [used = 0, forecast = 0, needed = 0] = (['used', 'forecast', 'needed'] as const).map((figure) =>
    Math.round(figures.reduce((sum, each) => sum + each[figure], 0)),
  )
  const rarer = standings.flatMap(({ report, requests }) => {
    const ms = requests?.planned_ms ?? null
    return ms === null ? [] : [`${report} runs every ${duration(ms)} in place of ${settings[report]?.every}`]
  })
  const sent = limit === Infinity ? counted(used, 'request') : `${grouped(used)} of ${counted(limit, 'request')}`
  return {
    use: `${sent} in 24 h, forecast ${grouped(forecast)}, the schedule needs ${grouped(needed)}`,
    effect: [...rarer, ...(rarer.length > 0 ? [SHORT] : []), ...(forecast > limit ? [EXCEEDED] : [])],
  }
}

const SHORT = 'The schedule needs more than requests_per_day allows. Nothing is lost, but rows arrive later.'
const EXCEEDED =
  'Other work sends more than requests_per_day allows: cron lines, reconciles, backfills or commands. It is not slowed down.'
