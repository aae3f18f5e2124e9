/** Finds out how many concurrent requests the service can process, from its response times and overloads. */

/** Slow responses never reduce the limit below this number. */
const STEADY_LIMIT = 4
const SLOW_RESPONSE_FACTOR = 1.5
const EARLIER_RESPONSES_WEIGHT = 0.75

export interface Concurrency {
  readonly max: number
  /** Grows in fractions. Requests use the whole number below it (`limitOf`). */
  readonly limit: number
  /** Below this limit, each response raises the limit by 1; from here on, each round of responses. */
  readonly slowGrowthFrom: number
  readonly halvings: number
  readonly recentMs?: number
  readonly usualMs: number
}

export function firstConcurrency(max: number): Concurrency {
  return { max, limit: Math.min(STEADY_LIMIT, max), slowGrowthFrom: max, halvings: 0, usualMs: 0 }
}

export const limitOf = ({ limit }: Concurrency): number => Math.floor(limit)

/** Adapts the limit to a response time. `atStart`: the concurrency when the request was sent. */
export function afterResponse(now: Concurrency, ms: number, atStart: Concurrency): Concurrency {
  // A response time that was measured at a higher limit does not show how fast the service is at this limit.
  if (limitOf(atStart) > limitOf(now)) return now
  const recentMs = EARLIER_RESPONSES_WEIGHT * (now.recentMs ?? ms) + (1 - EARLIER_RESPONSES_WEIGHT) * ms
  const usualMs = limitOf(now) <= STEADY_LIMIT ? recentMs : Math.min(now.usualMs, recentMs)
  if (recentMs > usualMs * SLOW_RESPONSE_FACTOR) {
    const limit = Math.max(STEADY_LIMIT, now.limit - 1)
    return { ...now, recentMs: usualMs, usualMs, limit, slowGrowthFrom: limit }
  }
  const step = now.limit < now.slowGrowthFrom ? 1 : 1 / now.limit
  return { ...now, recentMs, usualMs, limit: Math.min(now.max, now.limit + step) }
}

/** Halves the limit. If several concurrent requests fail because of an overload, only the first failure does so. */
export function afterOverload(now: Concurrency, atStart: Concurrency): Concurrency {
  if (atStart.halvings !== now.halvings) return now
  const limit = Math.max(1, now.limit / 2)
  return { ...now, halvings: now.halvings + 1, limit, slowGrowthFrom: limit }
}
