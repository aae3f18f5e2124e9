/**
 * Deletions that only a difference shows (budgets, spec §3): the service can include deleted rows but doesn't mark
 * them, so what is there with them and not without them is deleted. The read with them comes first: a row created in
 * between is then missing from neither. A row edited in between may leave the second read's window, so whatever is
 * missing is looked for once more among what was modified since.
 */
import { DAY_MS, type Instant, minusMs, plusMs } from '../../instant.ts'
import { KeySet } from '../../plan/keySet.ts'
import type { Question } from '../../plan/question.ts'
import type { Span } from '../../plan/spans.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import { PageReader } from './pages.ts'
import type { Proven } from './pageWalk.ts'
import type { Scope } from './scope.ts'
import { serviceClock } from './serviceClock.ts'

/** An edit may carry the stamp of a clock that runs ahead: its row is alive all the same. */
const FUTURE_MS = 366 * DAY_MS

/** A key with all key columns of its report. */
export type GoneKey = readonly (string | number)[]

export class Difference {
  readonly #scope: Scope
  /** Only the keys are wanted, so nothing is expanded and nothing is staged. */
  readonly #reader: PageReader
  /** What was modified and not deleted while the scope was read, as far as it was asked for. */
  readonly #moved = new KeySet()
  #movedUntil: Instant | undefined

  constructor(scope: Scope) {
    const { declaration, config } = scope.parts
    this.#scope = scope
    this.#reader = new PageReader(scope.context, {
      report: declaration,
      pageSize: config.pageSize,
      catalog: new ObjectCatalog(),
    })
  }

  /** Pages read so far, beside those of the scope's own reader. */
  get pages(): number {
    return this.#reader.pages
  }

  /** Which of the rows seen in `span`, with deleted ones included, are deleted. */
  async goneKeys(span: Span, seen: Proven): Promise<GoneKey[]> {
    if (seen.keys.size === 0) return []
    const live = await this.#scope.keysOf(this.#reader, span, {
      question: this.#question,
      rowsExpected: seen.rows,
    })
    const missing = [...seen.keys].filter((key) => !live.some((part) => part.keys.has(key)))
    if (missing.length === 0) return []
    await this.#lookForMoved()
    return missing.filter((key) => !this.#moved.has(key)).map((key) => [key, this.#scope.parts.scope])
  }

  get #question(): Question {
    const { config, scope: currency } = this.#scope.parts
    return { expand: [], filters: config.filters, currency, also: { includeDeleted: false } }
  }

  async #lookForMoved(): Promise<void> {
    const { context, reader, parts } = this.#scope
    const now = await serviceClock(context, parts.declaration, { currency: parts.scope })
    const from = this.#movedUntil ?? reader.firstServedAt ?? parts.window.clock
    const span = { since: minusMs(from, CLOCK_GRAIN_MS), until: plusMs(now, FUTURE_MS) }
    // An edit may have taken a row out of the report's filters: it is alive all the same.
    for (const part of await this.#scope.keysOf(this.#reader, span, { question: { ...this.#question, filters: {} } })) {
      for (const key of part.keys) this.#moved.add(key)
    }
    this.#movedUntil = now
  }
}
