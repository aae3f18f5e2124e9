/** Limits wrong tokens. Above a limit, the response is an error with the time to wait. A right token always passes. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MINUTE_MS } from '../../instant.ts'

const GUESSES_PER_ADDRESS_MAX = 10
const GUESSES_TOTAL_MAX = 100
/** Maximum number of addresses that are counted at once. A further address replaces the one with the oldest guess. */
const ADDRESSES_MAX = 10_000

/** Counts a wrong token. Returns how many seconds its sender must wait, or 0 while the counts are below the limits. */
export type CountGuess = (request: FastifyRequest) => Promise<number>

/** Returns the function that counts wrong tokens, for each address and in total. Needs the plugin for rate limits. */
export function guessCounter(app: FastifyInstance): CountGuess {
  const common = { timeWindow: MINUTE_MS, cache: ADDRESSES_MAX, allowList: [] }
  const limits = [
    app.createRateLimit({ ...common, max: GUESSES_PER_ADDRESS_MAX }),
    app.createRateLimit({ ...common, max: GUESSES_TOTAL_MAX, keyGenerator: () => 'all addresses' }),
  ]
  return async (request) => {
    for (const countIn of limits) {
      const count = await countIn(request)
      if (!count.isAllowed && count.isExceeded) return count.ttlInSeconds
    }
    return 0
  }
}
