/** Finds the last page of a span that ends before `youngFrom`, if responses have no total. */
import { sharedRows } from '../../../plan/firstNumber.ts'
import type { CountedPages, Slice, WalkSettings } from '../../../plan/slice.ts'
import { afterPage, beginSearch, type LastPage, nextPage, type PageComparison } from '../../../plan/lastPage.ts'
import { type Span, splitAt } from '../../../plan/spans.ts'
import { beginningOf, spansBeyond } from '../../../plan/stampSample.ts'
import type { Walk } from '../../../plan/walk.ts'
import { type FetchedPage, undefinedIfRefused } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { type PageWalk, questionFor, type SliceSource } from '../walkPages.ts'

export interface FoundPage extends CountedPages {
  readonly page: FetchedPage
  /** False if the page is full and was read before the empty next page, because a row may have moved in between. */
  readonly isComplete: boolean
}

/** Loads are planned below their limit: events match by two modification times, and may be read twice. */
const LOAD_SHARE = 0.8

/** Returns `guess` (the page to request first) and `stop` (where to cut a span that is too large for one load). */
function pagesToProbe({ rowsExpected = 0 }: Slice, { loadRowsMax }: WalkSettings, pageRows: number) {
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

/** Returns the last page, or the span cut in two if it exceeds one load. Undefined if pages contradict each other. */
export async function probeLastPage({ source, slice, first }: ProbedSlice, walk: PageWalk) {
  const { pages, settings } = source
  const pageRows = first.page.rowCount
  const { guess, stop } = pagesToProbe(slice, settings, pageRows)
  let search = beginSearch(guess, stop)
  let read: PagesSoFar = { first, full: first, short: undefined }
  for (;;) {
    const number = nextPage(search)
    const latest = number > pages.pagesLeft ? undefined : await walk.peek(number).catch(undefinedIfRefused)
    // A refused page may exist, so the last page stays unknown.
    if (latest === undefined) return undefined
    const comparison = compare(latest, read)
    const parts = comparison === 'full' && number === stop ? partsAt({ source, slice, first }, latest) : undefined
    if (parts !== undefined) return { parts, partRows: [(number - 1) * pageRows + 1, settings.loadRowsMax + 1] }
    read = pagesAfter(read, latest, comparison)
    const next = afterPage(search, number, comparison)
    if (next === undefined) return undefined
    if ('isShort' in next) return foundPage(next, read, latest)
    search = next
  }
}

/** Returns whether the walk back to page 1 missed rows: requests the last or next page, and the span after its rows. */
export async function probeUncounted(
  { source, slice, first }: ProbedSlice,
  { number, isShort, page: last }: FoundPage,
  counted: Walk,
): Promise<boolean> {
  const { pages } = source
  const isNew = ({ page }: FetchedPage) => page.keys.some((key) => !counted.keys.has(key))
  if (number > 1 || !isShort) {
    const end = await pages
      .read(questionFor(source, slice.span), isShort ? number : number + 1)
      .catch(undefinedIfRefused)
    const rows = isShort ? last.page.rowCount : 0
    if (end !== undefined && (end.page.rowCount > rows || isNew(end))) return true
  }
  for (const edge of spansBeyond(stampsOf(pages.report, first.page), stampsOf(pages.report, last.page), slice.span)) {
    const behind = await pages.read(questionFor(source, edge), 1)
    if (isNew(behind)) return true
    if (behind.page.rowCount < first.page.rowCount) return false
  }
  return false
}

function partsAt({ source, slice, first }: ProbedSlice, seen: FetchedPage): readonly Span[] | undefined {
  const { report } = source.pages
  const at = beginningOf(stampsOf(report, first.page), stampsOf(report, seen.page), slice.span)
  return at === undefined ? undefined : splitAt(slice.span, at)
}

interface PagesSoFar {
  readonly first: FetchedPage
  readonly full: FetchedPage
  readonly short: FetchedPage | undefined
}

function pagesAfter(read: PagesSoFar, latest: FetchedPage, comparison: PageComparison): PagesSoFar {
  if (comparison === 'full') return { ...read, full: latest }
  // Some services return the last page for all higher numbers, too.
  const isEarlier = comparison === 'again' && latest.number < (read.short?.number ?? 0)
  return comparison === 'short' || isEarlier ? { ...read, short: latest } : read
}

function foundPage(last: LastPage, { first, full, short }: PagesSoFar, latest: FetchedPage): FoundPage | undefined {
  const page = last.isShort ? short : full
  if (page === undefined) return undefined
  const total = (last.number - 1) * first.page.rowCount + page.page.rowCount
  return { ...last, page, isComplete: last.isShort || page === latest, total }
}

function compare({ page }: FetchedPage, { first, full, short }: PagesSoFar): PageComparison {
  const { rowCount } = page
  if (rowCount === 0) return 'empty'
  if (rowCount < first.page.rowCount) return short !== undefined && sameKeys(page, short.page) ? 'again' : 'short'
  if (rowCount > first.page.rowCount) return 'odd'
  return sameKeys(page, first.page) || sameKeys(page, full.page) ? 'odd' : 'full'
}

const sameKeys = (a: FetchedPage['page'], b: FetchedPage['page']): boolean =>
  a.rowCount === b.rowCount && a.keys.length === b.keys.length && sharedRows(a, b) === b.keys.length
