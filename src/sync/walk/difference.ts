/**
 * Finds deleted budgets (spec §3): the service can return deleted rows but does not mark them. A slice is read first
 * with deleted rows, then without them. A row that is created in between is only in the second read and can't look
 * deleted. A row that is edited in between may leave the slice, so it is searched for among the rows modified since.
 */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { DAY_MS, type Instant, minusMs, plusMs } from '../../instant.ts'
import { KeySet } from '../../plan/keySet.ts'
import type { Question } from '../../plan/question.ts'
import type { Span } from '../../plan/spans.ts'
import { CLOCK_GRAIN_MS, type Window } from '../../plan/window.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { WalkContext } from '../context.ts'
import { type GoneKey, wholeKey } from '../intake.ts'
import { PageSource } from './pageSource.ts'
import { type ProvenSlice, provenSlices } from './provenSlices.ts'
import { serviceClock } from './serviceClock.ts'
import type { SliceSource } from './walkPages.ts'

/** How far into the future edited rows are searched. A wrong clock may have stamped an edit with a future time. */
const FUTURE_MS = 366 * DAY_MS

export interface DifferencePlan {
  readonly declaration: Declaration
  readonly config: ReportConfig
  /** The currency; '' if the report is not read per currency. */
  readonly scope: string
  readonly window: Window
}

export class Difference {
  readonly #context: WalkContext
  readonly #plan: DifferencePlan
  /** The source of the first read, which includes deleted rows. */
  readonly #first: SliceSource
  /** The pages of the second read. Only their keys are needed: they have no collections and are not staged. */
  readonly #pages: PageSource
  /** Keys of rows that were modified between the first read and `#movedUntil` and are not deleted. */
  readonly #moved = new KeySet()
  #movedUntil: Instant | undefined

  constructor(context: WalkContext, plan: DifferencePlan, first: SliceSource) {
    const { declaration: report, config } = plan
    this.#context = context
    this.#plan = plan
    this.#first = first
    const catalog = new ObjectCatalog()
    this.#pages = new PageSource(context, { report, pageSize: config.pageSize, catalog, profile: first.pages.profile })
  }

  /** Returns the number of pages of the second reads so far. */
  get pages(): number {
    return this.#pages.pages
  }

  /** Returns the keys of deleted rows among those without a deletion flag; undefined if all rows have one. */
  async goneKeys({ span, keys, rows }: ProvenSlice, unflagged: KeySet): Promise<GoneKey[] | undefined> {
    const unflaggedKeys = [...keys].filter((key) => unflagged.has(key))
    if (unflaggedKeys.length === 0) return undefined
    const live = await this.#keysIn(span, { filters: this.#plan.config.filters, rowsExpected: rows })
    const missing = unflaggedKeys.filter((key) => !live.some((part) => part.has(key)))
    if (missing.length === 0) return []
    await this.#lookForMoved()
    return missing
      .filter((key) => !this.#moved.has(key))
      .map((key) => wholeKey(this.#plan.declaration, key, this.#plan.scope))
  }

  /** Returns the keys of the span's rows that are not deleted. */
  async #keysIn(
    span: Span,
    { filters, rowsExpected }: { readonly filters: Question['filters']; readonly rowsExpected?: number },
  ): Promise<KeySet[]> {
    const first = this.#first
    const pages = this.#pages
    pages.profile = { ...first.pages.profile, longestOfRun: pages.profile.longestOfRun }
    const { declaration, scope: currency } = this.#plan
    const also = { [declaration.includeDeleted ?? '']: false }
    const question = { expand: [], filters, currency, also }
    const live = provenSlices({ ...first, pages, question, axis: 'window', rows: undefined }, [span], rowsExpected)
    const keys: KeySet[] = []
    for await (const slice of live) keys.push(slice.keys)
    first.pages.profile = { ...pages.profile, longestOfRun: first.pages.profile.longestOfRun }
    return keys
  }

  async #lookForMoved(): Promise<void> {
    const [plan, { pages }] = [this.#plan, this.#first]
    const now = await serviceClock(this.#context, plan.declaration, { currency: plan.scope })
    const from = this.#movedUntil ?? pages.firstServedAt ?? plan.window.clock
    const span = { since: minusMs(from, CLOCK_GRAIN_MS), until: plusMs(now, FUTURE_MS) }
    // Sends no filters: an edit may have moved a row out of the report's filters without deleting it.
    for (const keys of await this.#keysIn(span, { filters: {} })) for (const key of keys) this.#moved.add(key)
    this.#movedUntil = now
  }
}
