/**
 * Probes the place of the last page of an old span that tells no total. The place says how many rows there are at most, and
 * from then on rows can only leave. A walk over the pages before it that brings that many rows has brought them all
 * (docs/PROOFS.md, `total`).
 */
import type { CountedPages, Slice, WalkTerms } from '../../../plan/slice.ts'
import { LastPageSearch, type Sight } from '../../../plan/lastPage.ts'
import type { Overfull } from '../../../plan/spanQueue.ts'
import { type Span, splitAt } from '../../../plan/spans.ts'
import { beginningOf, edgesOf } from '../../../plan/stampSample.ts'
import type { Walk } from '../../../plan/walk.ts'
import { type FetchedPage, refusedPage } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { type PageWalk, questionFor, type SliceSource } from '../walkPages.ts'

/** The last page. No row of a short one was pushed aside since; a full one has to be read again. */
export interface FoundPage extends CountedPages {
  readonly page: FetchedPage
}

/** A first part of the span that is about a load, and the rest, with the rows that each probably holds. */
type LoadAhead = Required<Pick<Overfull, 'parts' | 'partRows'>>

/** Share of a load's rows: a row with two stamps may be in the part before a cut and in the one behind it. */
const LOAD_SHARE = 0.8

/** Returns where to look first, and the page behind which there is more than a load, where the span may hold that much. */
function whereToLook({ rowsExpected = 0 }: Slice, { loadRowsMax }: WalkTerms, pageRows: number) {
  const behindLoad = Math.floor((LOAD_SHARE * loadRowsMax) / pageRows)
  const isLoad = behindLoad < 2 || (rowsExpected > 0 && rowsExpected <= loadRowsMax)
  const guess = Math.ceil(rowsExpected / pageRows)
  return isLoad ? { guess, stop: undefined } : { guess: Math.min(guess, behindLoad), stop: behindLoad }
}

export interface ProbedSlice {
  readonly source: SliceSource
  readonly slice: Slice & { readonly span: Span }
  readonly first: FetchedPage
}

/** Looks for the last page. Undefined: the pages do not behave as pages that are cut because they are full. */
export async function probeLastPage(
  { source, slice, first }: ProbedSlice,
  walk: PageWalk,
): Promise<FoundPage | LoadAhead | undefined> {
  const { pages, terms } = source
  const pageRows = first.page.rowCount
  const { guess, stop } = whereToLook(slice, terms, pageRows)
  const search = new LastPageSearch(guess, stop)
  let full = first
  let short: FetchedPage | undefined
  for (let number = search.next(); number !== undefined; number = search.next()) {
    if (number > pages.pagesLeft) return undefined
    const seen = await walk.look(number).catch(refusedPage)
    // A number that is larger than the service likes does not show the end.
    if (seen === undefined) return undefined
    const sight = sightOf(seen, { first, full, short })
    search.saw(number, sight)
    const cut = sight === 'full' && number === stop ? partsAt({ source, slice, first }, seen) : undefined
    if (cut !== undefined) return { parts: cut, partRows: [(number - 1) * pageRows + 1, terms.loadRowsMax + 1] }
    if (sight === 'full') full = seen
    // A last page that is shown again for later numbers is where it has the lowest number.
    if (sight === 'short' || (sight === 'again' && number < (short?.number ?? 0))) short = seen
  }
  const { found } = search
  const page = found?.isShort === true ? short : full
  return (
    found &&
    page && { ...found, page, total: (found.number - 1) * pageRows + (found.isShort ? page.page.rowCount : pageRows) }
  )
}

/**
 * Returns whether rows are behind the last page after all: a service may page to some depth only, without a sign. Asks for
 * rows that are later than all rows of the first and the last page, or earlier where pages run back in time.
 */
export async function probeBehindLast(
  { source, slice, first }: ProbedSlice,
  last: FetchedPage,
  counted: Walk,
): Promise<boolean> {
  const { report } = source.pages
  for (const edge of edgesOf(stampsOf(report, first.page), stampsOf(report, last.page), slice.span)) {
    const { page } = await source.pages.read(questionFor(source, edge), 1)
    if (page.keys.some((key) => !counted.keys.has(key))) return true
    if (page.rowCount < first.page.rowCount) return false
  }
  return false
}

/** The span up to where the rows of `seen` begin, and the rest. Undefined: pages do not follow time. */
function partsAt({ source, slice, first }: ProbedSlice, seen: FetchedPage): readonly Span[] | undefined {
  const { report } = source.pages
  const at = beginningOf(stampsOf(report, first.page), stampsOf(report, seen.page), slice.span)
  return at === undefined ? undefined : splitAt(slice.span, at)
}

interface SeenPages {
  readonly first: FetchedPage
  /** The full page with the highest number. */
  readonly full: FetchedPage
  readonly short: FetchedPage | undefined
}

function sightOf({ page }: FetchedPage, { first, full, short }: SeenPages): Sight {
  const { rowCount } = page
  if (rowCount === 0) return 'empty'
  if (rowCount < first.page.rowCount) return short !== undefined && sameKeys(page, short.page) ? 'again' : 'short'
  if (rowCount > first.page.rowCount) return 'odd'
  return sameKeys(page, first.page) || sameKeys(page, full.page) ? 'odd' : 'full'
}

/** Returns whether both pages have the same rows, in any order. */
function sameKeys(a: FetchedPage['page'], b: FetchedPage['page']): boolean {
  if (a.rowCount !== b.rowCount || a.keys.length !== b.keys.length) return false
  const keys = new Set(a.keys)
  return b.keys.every((key) => keys.has(key))
}
