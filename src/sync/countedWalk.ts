/**
 * Proves an old span of a report that tells no total, by a total of its own: the place of the last page says how many
 * rows there are at most, and from then on rows can only leave. A walk over the pages before it that brings as many has
 * brought them all (docs/PROOFS.md). Each row comes once, however many slices it would have stood in.
 */
import { SyncError } from '../errors.ts'
import { type LastPage, LastPageSearch, type Sight } from '../plan/lastPage.ts'
import { sawFullPage, sawLastPage } from '../plan/pageSizes.ts'
import { edgesOf, type RowStamps } from '../plan/stampSample.ts'
import { type Span, splitAt, splitByTotal, canSplit } from '../plan/spans.ts'
import type { FetchedPage } from './pages.ts'
import { type Outcome, Walk } from './pageWalk.ts'
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
export async function counted(before: Walk, first: FetchedPage): Promise<Outcome | undefined> {
  const { parts, span } = before
  const pageRows = first.page.rowCount
  const last = await lookForLast(before, first)
  if (last === undefined || span === undefined) return undefined
  const total = (last.number - 1) * pageRows + (last.isShort ? last.page.page.rowCount : pageRows)
  const sizes = parts.sizes()
  parts.learn(
    last.number > 1 ? sawFullPage(sizes, pageRows) : sawLastPage(sizes, Math.min(pageRows, parts.reader.pageSize)),
  )
  if (total > parts.loadRowsMax && canSplit(span))
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

async function lookForLast(walk: Walk, first: FetchedPage): Promise<Found | undefined> {
  const { parts } = walk
  const pageRows = first.page.rowCount
  const search = new LastPageSearch(Math.ceil((parts.rowsExpected ?? 0) / pageRows))
  let full = first
  let short: FetchedPage | undefined
  for (let number = search.next(); number !== undefined; number = search.next()) {
    if (number > parts.reader.pagesLeft) return undefined
    const seen = await walk.look(number).catch(refusedPage)
    if (seen === undefined) return undefined
    const sight = sightOf(seen, { first, full, short })
    search.saw(number, sight)
    if (sight === 'full') full = seen
    // Seen where it stands, or where it is shown again: the one with the lowest number is the last page.
    if (sight === 'short' || (sight === 'again' && number < (short?.number ?? 0))) short = seen
  }
  const { found } = search
  const page = found?.isShort === true ? short : full
  return found && page && { ...found, page }
}

/**
 * A page number may be refused because no such page is there, or because it is larger than the service likes: that it
 * is the end can't be told, so it isn't taken for one.
 */
function refusedPage(error: unknown): undefined {
  const isRefusal =
    error instanceof SyncError && (error.code === 'REQUEST_INVALID' || error.code === 'STATUS_UNEXPECTED')
  if (!isRefusal) throw error
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
