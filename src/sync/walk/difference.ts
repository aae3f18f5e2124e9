/**
 * Finds deleted budgets (spec §3): the service can return deleted rows, but without a flag. A slice is read first with
 * deleted rows and then without them. A row that is created in between is only in the second read and can't look
 * deleted. A row that is edited in between may leave the slice. So a third read, with deleted rows, must show the
 * missing row with the same stamp as the first: the row was then not edited but deleted.
 */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { KeySet } from '../../plan/keySet.ts'
import type { Window } from '../../plan/window.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { RowKey } from '../../staging/scanPage.ts'
import type { WalkContext } from '../context.ts'
import { type GoneKey, wholeKey } from '../intake.ts'
import { type FetchedPage, PageSource } from './pageSource.ts'
import { type ProvenSlice, provenSlices } from './provenSlices.ts'
import { stampTexts } from './stampsOf.ts'
import type { RowSink, SliceSource } from './walkPages.ts'

export interface DifferencePlan {
  readonly declaration: Declaration
  readonly config: ReportConfig
  /** The currency; '' if the report is not read per currency. */
  readonly scope: string
  readonly window: Window
}

export class Difference {
  readonly #plan: DifferencePlan
  /** The source of the first read. This read includes deleted rows. */
  readonly #first: SliceSource
  /** The pages of the other reads. They have no collections and are not staged: only keys and stamps are needed. */
  readonly #pages: PageSource

  constructor(context: WalkContext, plan: DifferencePlan, first: SliceSource) {
    const { declaration: report, config } = plan
    this.#plan = plan
    this.#first = first
    const catalog = new ObjectCatalog()
    this.#pages = new PageSource(context, { report, pageSize: config.pageSize, catalog, profile: first.pages.profile })
  }

  /** Returns the number of pages of the second and third reads so far. */
  get pages(): number {
    return this.#pages.pages
  }

  /**
   * Returns the keys of rows without a deletion flag that are missing from the second read, each with its stamp in the
   * third read. The stamp is '' if that read lacks the row too. Returns undefined if all rows have a flag.
   */
  async goneKeys(slice: ProvenSlice, unflagged: KeySet): Promise<GoneKey[] | undefined> {
    const unflaggedKeys = [...slice.keys].filter((key) => unflagged.has(key))
    if (unflaggedKeys.length === 0) return undefined
    const live = await this.#keysOf(slice)
    const missing = unflaggedKeys.filter((key) => !live.some((part) => part.has(key)))
    if (missing.length === 0) return []
    const { declaration, scope } = this.#plan
    const third = new StampCollector(declaration)
    await this.#keysOf(slice, third)
    return missing.map((key) => [...wholeKey(declaration, key, scope), ...(third.stamps.get(key) ?? [''])])
  }

  /**
   * Returns the keys of the slice's rows that are not deleted; with `withDeleted`, which receives them, of all rows.
   */
  async #keysOf({ span, rows: rowsExpected }: ProvenSlice, withDeleted?: RowSink): Promise<KeySet[]> {
    const first = this.#first
    const pages = this.#pages
    pages.profile = { ...first.pages.profile, longestOfRun: pages.profile.longestOfRun }
    const { declaration, config, scope: currency } = this.#plan
    const also = { [declaration.includeDeleted ?? '']: withDeleted !== undefined }
    const question = { expand: [], filters: config.filters, currency, also }
    const source = { ...first, pages, question, axis: 'window', rows: withDeleted } as const
    const keys: KeySet[] = []
    for await (const slice of provenSlices(source, [span], rowsExpected)) keys.push(slice.keys)
    first.pages.profile = { ...pages.profile, longestOfRun: first.pages.profile.longestOfRun }
    return keys
  }
}

/** Keeps the stamps of all rows except rejected ones. Rows of walks without a proof stay: their stamps are valid. */
class StampCollector implements RowSink {
  readonly stamps = new Map<RowKey | undefined, readonly string[]>()
  readonly #report: Declaration

  constructor(report: Declaration) {
    this.#report = report
  }

  async begin(): Promise<void> {}
  async drop(): Promise<void> {}

  async add({ page }: FetchedPage): Promise<void> {
    const rejected = new Map(page.rejected.map(({ key }) => [key, []]))
    const keys = page.keys.filter((key) => !rejected.has(key))
    const stamps = stampTexts(this.#report, page).map((texts) => [texts.find((stamp) => stamp !== undefined) ?? ''])
    for (const [key, none] of rejected) this.stamps.set(key, none)
    for (const [row, key] of keys.entries()) this.stamps.set(key, stamps[row] ?? [''])
  }
}
