/** Observes a soak from outside: walks and tokens in the service's log, marks in the published copy. */
import type { LoggedRequest, Sandbox } from '../../src/sandbox/server.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'

const TOKEN_PATH = '/authenticationapi/Account/RequestToken'
const MICROS_PER_MINUTE = 60_000_000
/** Only windows of incremental runs end this close to their request. */
const FRESH_MICROS = 10 * MICROS_PER_MINUTE

interface Asked {
  readonly modifiedUntil?: string
  readonly targetCurrencyCode?: string
  readonly currencyCode?: string
}

interface Walk {
  newest: number
  /** If a request has one of these ends after a newer window was read, two walks overlap. */
  readonly passed: Set<number>
}

export class Witness {
  readonly broken: string[] = []
  readonly tokenCalls: number[] = []
  walks = 0
  marksSeen = 0
  readonly #sandbox: Sandbox
  readonly #published: string
  readonly #walks = new Map<string, Walk>()
  readonly #marks = new Map<string, number>()
  #seen = 0
  #isOver = false

  constructor(sandbox: Sandbox, published: string) {
    this.#sandbox = sandbox
    this.#published = published
  }

  /** The log keeps only two thousand requests, so this must be called often. */
  readRequests(): void {
    const { requests } = this.#sandbox
    const fresh = requests.total - this.#seen
    const kept = requests.list()
    if (fresh > kept.length) this.broken.push(`${fresh - kept.length} requests were not seen`)
    this.#seen = requests.total
    for (const request of kept.slice(-fresh || kept.length)) this.#take(request)
  }

  /** Ends the check for overlapping walks. */
  endWalks(): void {
    this.readRequests()
    this.#isOver = true
  }

  async readMarks(): Promise<void> {
    for (const { mark, value } of await marksIn(this.#published)) {
      const before = this.#marks.get(mark) ?? -Infinity
      if (value < before) this.broken.push(`the mark ${mark} moved back from ${before} to ${value}`)
      this.#marks.set(mark, value)
      this.marksSeen += 1
    }
  }

  /** Returns the largest number of token requests within a minute. */
  get tokenCallsInAMinute(): number {
    const within = (from: number) => this.tokenCalls.filter((at) => at >= from && at < from + MICROS_PER_MINUTE).length
    return Math.max(0, ...this.tokenCalls.map(within))
  }

  #take({ at, path, body }: LoggedRequest): void {
    if (path === TOKEN_PATH) return void this.tokenCalls.push(at)
    if (this.#isOver) return
    const asked = JSON.parse(body || '{}') as Asked
    const until = Date.parse(asked.modifiedUntil ?? '') * 1_000
    if (!Number.isFinite(until) || Math.abs(until - at) > FRESH_MICROS) return
    const name = `${path} ${asked.targetCurrencyCode ?? asked.currencyCode ?? ''}`.trim()
    const walk = this.#walks.get(name) ?? { newest: -Infinity, passed: new Set() }
    this.#walks.set(name, walk)
    if (walk.passed.has(until)) this.broken.push(`${name}: a walk to ${until} went on beside one to ${walk.newest}`)
    if (until <= walk.newest) return
    if (walk.newest > 0) walk.passed.add(walk.newest)
    walk.newest = until
    this.walks += 1
  }
}

async function marksIn(published: string): Promise<{ mark: string; value: number }[]> {
  try {
    await using copy = await Database.open(published, { readOnly: true, memory: '128MB' })
    return await copy.rows(
      `SELECT report || ' ' || scope || ' ' || mark AS mark, epoch_us(value)::DOUBLE AS value FROM tidemark.marks WHERE report NOT LIKE '%audit%'`,
    )
  } catch {
    // The published copy does not exist yet, or cannot be read.
    return []
  }
}
