/** The model's tokens: which are valid, and how many token requests there may have been (product contract §5.9). */
import type { Chance } from './chance.ts'
import type { Timeline } from './timeline.ts'
import type { Scenario } from './scenario.ts'

export class Tokens {
  /** Token requests that came. */
  asked = 0
  /** Token requests for which there was a reason. */
  budget = 0
  readonly #valid = new Map<string, number>()
  readonly #scenario: Scenario
  readonly #timeline: Timeline
  #issued = 0

  constructor({ scenario, timeline }: { scenario: Scenario; timeline: Timeline }) {
    this.#scenario = scenario
    this.#timeline = timeline
  }

  issue(chance: Chance): string {
    this.asked += 1
    this.#issued += 1
    const { tokenLifetimeS } = this.#scenario
    const token = `token-${this.#issued}-${chance.int(1e6, 1e7)}`
    this.#valid.set(token, this.#timeline.nowMs + tokenLifetimeS * 1_000)
    return JSON.stringify({ accessToken: token, expiresIn: tokenLifetimeS, tokenType: 'Bearer' })
  }

  /** A token request that failed is a reason for one more. */
  failed<T>(answer: T): T {
    this.asked += 1
    this.budget += 1
    return answer
  }

  refused<T>(answer: T): T {
    this.budget += 1
    return answer
  }

  /** A run begins: that no token outlives its margin any more is a reason. */
  begun(): void {
    const margin = this.#timeline.nowMs + this.#marginMs
    if (![...this.#valid.values()].some((until) => until > margin)) this.budget += 1
  }

  revokeAll(): void {
    this.#valid.clear()
  }

  isValid(authorization: string): boolean {
    const until = this.#valid.get(authorization.replace('Bearer ', ''))
    return until !== undefined && until > this.#timeline.nowMs
  }

  /** Reasons that time gives: a token's life is over, or the margin before its end has begun. */
  lived(ms: number): void {
    this.budget += Math.ceil(ms / (this.#scenario.tokenLifetimeS * 1_000 - this.#marginMs)) + 1
  }

  get #marginMs(): number {
    return Math.min(60_000, this.#scenario.tokenLifetimeS * 200)
  }
}
