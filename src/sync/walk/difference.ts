/**
 * Finds deleted rows of reports without a deletion flag, such as budgets (spec §3). A slice is read with deleted rows,
 * and then without them. If only the first read returned a row, the row was deleted or edited. A third read, with
 * deleted rows, decides: if the row still has the same stamp, it was deleted (docs/PROOFS.md, "Two reads differ").
 */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { minusMs, parseInstant, plusMs } from '../../instant.ts'
import { KeySet } from '../../plan/keySet.ts'
import { rowsAPage } from '../../plan/pagingProfile.ts'
import type { Question } from '../../plan/question.ts'
import { merged, type Span } from '../../plan/spans.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { RowKey } from '../../staging/scanPage.ts'
import type { WalkContext } from '../context.ts'
import { type GoneKey, wholeKey } from '../intake.ts'
import { eachConcurrently } from '../concurrently.ts'
import { type FetchedPage, PageSource, undefinedIfRefused } from './pageSource.ts'
import { type ProvenSlice, provenSlices } from './provenSlices.ts'
import { stampTexts } from './stampsOf.ts'
import type { RowSink, SliceSource } from './walkPages.ts'

export interface DifferencePlan {
  readonly declaration: Declaration
  readonly config: ReportConfig
  readonly scope: string
}

export class Difference {
  readonly #plan: DifferencePlan
  readonly #first: SliceSource
  /** Requests the pages of the second and later reads. */
  readonly pages: PageSource

  constructor(context: WalkContext, plan: DifferencePlan, first: SliceSource) {
    const { declaration: report, config } = plan
    this.#plan = plan
    this.#first = first
    const catalog = new ObjectCatalog()
    this.pages = new PageSource(context, { report, pageSize: config.pageSize, catalog, profile: first.pages.profile })
  }

  /**
   * Reads the slice a second time, without deleted rows, and returns the keys of rows that are missing. Each has the
   * stamp from a third read, with deleted rows ('' if this read lacks it). Undefined if all rows have a deletion flag.
   */
  async goneKeys(slice: ProvenSlice, pageOf: PageOf): Promise<GoneKey[] | undefined> {
    const unflagged = [...slice.keys].filter((key) => pageOf.has(key))
    if (unflagged.length === 0) return undefined
    const second = await this.#prove([slice.span], { includeDeleted: false, rowsExpected: slice.rows })
    const keys = await this.#keysOfOtherPages(slice, second, unflagged)
    const missing = missingFrom([...second, { keys }], unflagged)
    const stamps = await this.#stampsOf(missing, slice, pageOf)
    const isSure = second.every(({ proof }) => proof === 'single') && keys.size === 0
    const gone = isSure ? missing : await this.#confirmed(missing, slice, stamps)
    const { declaration, scope } = this.#plan
    return gone.map((key) => [...wholeKey(declaration, key, scope), ...(stamps.get(key) ?? [''])])
  }

  /** The service may remove deleted rows from pages, which are short then. So this reads the pages of the first read, too. */
  async #keysOfOtherPages(slice: ProvenSlice, second: readonly ProvenSlice[], all: readonly RowKey[]) {
    const keys = new KeySet()
    const isSure = missingFrom(second, all).length === 0 || second.every(({ proof }) => proof === 'total')
    const { profile, pageSize } = this.pages
    const pages = isSure ? 0 : Math.ceil(slice.rows / Math.min(profile.fullPageRows ?? pageSize, pageSize))
    for (let number = second.length === 1 ? 2 : 1; number <= pages; number += 1) {
      const { page } = await this.pages.readLaterPage({ ...this.#question(false), window: slice.span }, number)
      for (const key of missingFrom(second, page.keys)) keys.add(key)
    }
    return keys
  }

  /** Reads the pages of these rows again or, if a row has moved, the whole slice. */
  async #stampsOf(keys: readonly RowKey[], slice: ProvenSlice, pageOf: PageOf): Promise<Stamps> {
    const third = collectStamps(this.#plan.declaration)
    const numbers = [...new Set(keys.map((key) => pageOf.get(key) ?? 1))]
    const question = { ...this.#question(true), window: slice.span }
    await eachConcurrently(numbers, this.#first.concurrency, async (number) => {
      const page = await this.pages.read(question, number).catch(undefinedIfRefused)
      if (page !== undefined) await third.add(page)
    })
    if (!keys.every((key) => third.stamps.has(key)))
      await this.#prove([slice.span], { includeDeleted: true, rows: third, rowsExpected: slice.rows })
    return third.stamps
  }

  /** Requests a short span around each missing row. Updates `stamps`, and returns the rows that are still missing. */
  async #confirmed(missing: readonly RowKey[], slice: ProvenSlice, stamps: Stamps): Promise<readonly RowKey[]> {
    const around = (key: RowKey) => {
      const at = parseInstant(stamps.get(key)?.[0] ?? '')
      return at === undefined ? [] : [{ since: minusMs(at, CLOCK_GRAIN_MS), until: plusMs(at, CLOCK_GRAIN_MS) }]
    }
    const spans = merged(missing.flatMap(around))
    const texts = new Set(missing.flatMap((key) => stamps.get(key) ?? []))
    const rowsThere = [...stamps.values()].filter(([text = '']) => texts.has(text)).length
    const pageRows = rowsAPage(this.pages.profile, this.pages.pageSize)
    const isCrowded = rowsThere > (spans.length * pageRows) / 2
    // Skips the check if it would need more requests than the slice has pages.
    if (isCrowded || 2 * spans.length > slice.rows / pageRows) return missing
    const withoutDeleted = await this.#prove(spans, { includeDeleted: false })
    const last = collectStamps(this.#plan.declaration)
    await this.#prove(spans, { includeDeleted: true, rows: last })
    for (const key of missing) if (around(key).length > 0) stamps.set(key, last.stamps.get(key) ?? [''])
    return missingFrom(withoutDeleted, missing)
  }

  async #prove(spans: readonly Span[], { includeDeleted, rows, rowsExpected }: FurtherRead): Promise<ProvenSlice[]> {
    const first = this.#first
    const pages = this.pages
    pages.profile = { ...first.pages.profile, longestPageRowsOfRun: pages.profile.longestPageRowsOfRun }
    const question = this.#question(includeDeleted)
    const source = { ...first, pages, question, timeFilter: 'window', rows } as const
    const slices: ProvenSlice[] = []
    for await (const slice of provenSlices(source, spans, rowsExpected)) slices.push(slice)
    // Not the lengths of pages: these requests have no `expand`, and the service may send more such rows in a page.
    first.pages.profile = { ...first.pages.profile, firstNumber: pages.profile.firstNumber }
    return slices
  }

  #question(includeDeleted: boolean): Question {
    const { config, scope: currency } = this.#plan
    return { expand: [], filters: config.filters, currency, includeDeleted }
  }
}

interface FurtherRead {
  readonly includeDeleted: boolean
  readonly rows?: RowSink
  readonly rowsExpected?: number
}

/** For each row, the page on which a walk last returned the row. */
type PageOf = ReadonlyMap<RowKey, number>
type Stamps = Map<RowKey | undefined, readonly string[]>

const missingFrom = (slices: readonly Pick<ProvenSlice, 'keys'>[], keys: readonly RowKey[]): readonly RowKey[] =>
  keys.filter((key) => !slices.some((slice) => slice.keys.has(key)))

/** Collects the stamps of rows ([] for a rejected row), also those of a walk that could not be proven. */
function collectStamps(report: Declaration): RowSink & { readonly stamps: Stamps } {
  const stamps: Stamps = new Map()
  const add = async ({ page }: FetchedPage): Promise<void> => {
    const rejected = new Map(page.rejected.map(({ key }) => [key, []]))
    const keys = page.keys.filter((key) => !rejected.has(key))
    const texts = stampTexts(report, page).map((each) => [each.find((stamp) => stamp !== undefined) ?? ''])
    for (const [key, none] of rejected) stamps.set(key, none)
    for (const [row, key] of keys.entries()) stamps.set(key, texts[row] ?? [''])
  }
  return { stamps, add }
}
