/**
 * Proves an old span of a report that tells no total, by a total of its own: the place of the last page says how many
 * rows there are at most, and from then on rows can only leave. A walk over the pages before it that brings as many has
 * brought them all (docs/PROOFS.md). Each row comes once, however many slices it would have stood in.
 */
import { type LastPage, LastPageSearch, type Sight } from '../../plan/lastPage.ts'
import { sawFullPage, sawLastPage } from '../../plan/pageSizes.ts'
import type { Overfull } from '../../plan/spanQueue.ts'
import { beginningOf, edgesOf, type RowStamps } from '../../plan/stampSample.ts'
import { type Span, splitAt, splitByTotal, canSplit } from '../../plan/spans.ts'
import { type FetchedPage, refusedPage } from './pages.ts'
import { type WalkOutcome, Walk } from './pageWalk.ts'
import { stampsOf } from './stampsOf.ts'

/** Whether all of the walk's span is old, and may be walked page by page. */
export const isCountable = ({ parts, span }: Walk): boolean =>
  parts.reader.keyed && span !== undefined && span.until <= parts.youngFrom && parts.walksOld === true

/** The old part of a span and the young one, if the old one is long enough to be worth questions of its own. */
export function oldPart({ parts, span }: Walk): readonly Span[] | undefined {
  if (span === undefined || parts.walksOld !== true || !parts.reader.keyed || parts.cuts === false) return undefined
  const cut = splitAt(span, parts.youngFrom)
  if (cut === undefined) return undefined
  return span.since === undefined || parts.youngFrom - span.since >= span.until - parts.youngFrom ? cut : undefined
}

/**
 * Proves the span whose first page may be full, or says how to cut it. Undefined: rows moved, or the pages don't behave
 * as pages that are cut because they are full.
 */
export async function counted(before: Walk, first: FetchedPage): Promise<WalkOutcome | undefined> {
  const { parts, span } = before
  const pageRows = first.page.rowCount
  if (span === undefined) return undefined
  const last = await lookForLast(before, { first, span })
  if (last === undefined) return undefined
  if ('parts' in last) return before.split(first, last)
  const total = (last.number - 1) * pageRows + (last.isShort ? last.page.page.rowCount : pageRows)
  const sizes = parts.sizes()
  parts.learn(
    last.number > 1 ? sawFullPage(sizes, pageRows) : sawLastPage(sizes, Math.min(pageRows, parts.reader.pageSize)),
  )
  // A part that was planned as one load may hold more; it is loaded in two pieces then, and closes with the second.
  const most = parts.rowsExpected === undefined ? parts.loadRowsMax : PLANNED_LOADS_MAX * parts.loadRowsMax
  if (total > most && canSplit(span))
    return before.split(first, { total, parts: splitByTotal(span, total, parts.loadRowsMax) })
  const walk = new Walk(parts, span)
  if (last.isShort) walk.took(last.page)
  if (last.isShort) await parts.keep(last.page)
  await walk.back(last.isShort ? last.number - 1 : last.number)
  const isWhole = walk.state.brings(total) && walk.state.mostRows === pageRows
  return isWhole && !(await hidesRows(walk, first, last.page)) ? walk.proven('total') : undefined
}

interface Found extends LastPage {
  /** The last page. Where it is short no row of it has been pushed aside since; a full one has to be read again. */
  readonly page: FetchedPage
}

/**
 * Whether rows stand behind the last page after all: a service may page to so many rows and not say that there are
 * more. Asks for what is later than all that the first and the last page showed, or earlier where pages run back in
 * time: there they would be.
 */
async function hidesRows({ parts, span, state }: Walk, first: FetchedPage, last: FetchedPage): Promise<boolean> {
  const stamps = ({ page }: FetchedPage): readonly RowStamps[] => stampsOf(parts.reader.report, page)
  for (const edge of span === undefined ? [] : edgesOf(stamps(first), stamps(last), span)) {
    const { page } = await parts.reader.read(parts.ask(edge), 1)
    if (page.keys.some((key) => !state.keys.has(key))) return true
    if (page.rowCount < first.page.rowCount) return false
  }
  return false
}

/** A first part of the span that is about a load, and what follows it, with the rows that each probably holds. */
type LoadAhead = Required<Pick<Overfull, 'parts' | 'partRows'>>

/** So many loads may be in a part that was planned as one, before it is cut again. */
const PLANNED_LOADS_MAX = 2
/** Of a load's rows: those that carry two stamps may stand in the part before a cut and in the one behind it. */
const LOAD_SHARE = 0.8

/** Where to look first, and the page behind which more than a load stands, where the span may hold that much. */
function whereToLook({ parts }: Walk, pageRows: number): { readonly guess: number; readonly stop: number | undefined } {
  const { rowsExpected = 0, loadRowsMax } = parts
  const behindLoad = Math.floor((LOAD_SHARE * loadRowsMax) / pageRows)
  const isLoad = behindLoad < 2 || (rowsExpected > 0 && rowsExpected <= loadRowsMax)
  const guess = Math.ceil(rowsExpected / pageRows)
  return isLoad ? { guess, stop: undefined } : { guess: Math.min(guess, behindLoad), stop: behindLoad }
}

async function lookForLast(
  walk: Walk,
  { first, span }: { readonly first: FetchedPage; readonly span: Span },
): Promise<Found | LoadAhead | undefined> {
  const { parts } = walk
  const pageRows = first.page.rowCount
  const { guess, stop } = whereToLook(walk, pageRows)
  const search = new LastPageSearch(guess, stop)
  let full = first
  let short: FetchedPage | undefined
  for (let number = search.next(); number !== undefined; number = search.next()) {
    if (number > parts.reader.pagesLeft) return undefined
    const seen = await walk.look(number).catch(refusedPage)
    // The end can't be told from a number that is larger than the service likes.
    if (seen === undefined) return undefined
    const sight = sightOf(seen, { first, full, short })
    search.saw(number, sight)
    const cut = sight === 'full' && number === stop ? partsAt(walk, span, { first, seen }) : undefined
    if (cut !== undefined) return { parts: cut, partRows: [(number - 1) * pageRows + 1, parts.loadRowsMax + 1] }
    if (sight === 'full') full = seen
    // Seen where it stands, or where it is shown again: the one with the lowest number is the last page.
    if (sight === 'short' || (sight === 'again' && number < (short?.number ?? 0))) short = seen
  }
  const { found } = search
  const page = found?.isShort === true ? short : full
  return found && page && { ...found, page }
}

/** The span up to where the rows of `seen` begin, and from there on; undefined where pages don't follow time. */
function partsAt(
  { parts }: Walk,
  span: Span,
  { first, seen }: { readonly first: FetchedPage; readonly seen: FetchedPage },
): readonly Span[] | undefined {
  const { report } = parts.reader
  const at = beginningOf(stampsOf(report, first.page), stampsOf(report, seen.page), span)
  return at === undefined ? undefined : splitAt(span, at)
}

interface Known {
  readonly first: FetchedPage
  /** The page that came full last. */
  readonly full: FetchedPage
  readonly short: FetchedPage | undefined
}

function sightOf({ page }: FetchedPage, { first, full, short }: Known): Sight {
  const { rowCount } = page
  if (rowCount === 0) return 'empty'
  if (rowCount < first.page.rowCount) return short !== undefined && sameKeys(page, short.page) ? 'again' : 'short'
  if (rowCount > first.page.rowCount) return 'odd'
  return sameKeys(page, first.page) || sameKeys(page, full.page) ? 'odd' : 'full'
}

/** Whether both pages bring the same rows, in any order. */
function sameKeys(a: FetchedPage['page'], b: FetchedPage['page']): boolean {
  if (a.rowCount !== b.rowCount || a.keys.length !== b.keys.length) return false
  const keys = new Set(a.keys)
  return b.keys.every((key) => keys.has(key))
}
