/** Limits wrong tokens per minute. A client above the limit must wait, but a right token is always accepted. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MINUTE_MS } from '../../instant.ts'

const GUESSES_PER_ADDRESS_MAX = 10
const GUESSES_TOTAL_MAX = 100
/** A further address replaces the address with the oldest wrong token. */
const ADDRESSES_MAX = 10_000

/** Counts a wrong token. Returns the seconds that the client must wait, or 0. */
export type CountGuess = (request: FastifyRequest) => Promise<number>

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
