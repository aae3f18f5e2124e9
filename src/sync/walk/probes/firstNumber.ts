/**
 * Finds whether the first page has the number 0 or 1 (undefined in spec §4, rule 2). For an envelope, page 0 is read if
 * walks from page 1 lack rows of the total. For a bare array, one row is requested: it must be on the first page.
 */
import { type ErrorCode, SyncError } from '../../../errors.ts'
import type { Instant } from '../../../instant.ts'
import { loneStamp, sharedRows } from '../../../plan/firstNumber.ts'
import type { Span } from '../../../plan/spans.ts'
import type { Walk } from '../../../plan/walk.ts'
import { type FetchedPage, undefinedIfRefused } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { questionFor, type SliceSource } from '../walkPages.ts'

/** Reads page 0 after walks with fewer rows than the total. Returns the first page's number; undefined if unknown. */
export async function probePageZero(
  source: SliceSource,
  span: Span | undefined,
  walk: Walk,
): Promise<0 | 1 | undefined> {
  const read = readerOf(source, { span, size: walk.rowsAsked })
  const zero = await pageZero(read)
  const isNone = zero === undefined || zero.page.rowCount === 0
  if (isNone || isSame(zero, await read(1))) return 1
  return numberOf(walk, zero, source.terms.keyed)
}

/**
 * Returns the number of the first page; undefined if rows moved or are too few. If a row can be requested alone, its
 * response has only one page, and the number of that page is the result. Otherwise pages of one row are compared.
 */
export async function probeFirstNumber(
  source: SliceSource,
  span: Span | undefined,
  first: FetchedPage,
): Promise<0 | 1 | undefined> {
  if (first.page.rowCount === 0) return numberOfEmpty(readerOf(source, { span }))
  const stamps = stampsOf(source.pages.report, first.page)
  for (const near of NEAR_MICROS) {
    const at = loneStamp(stamps, near)
    const apart = at && { since: (at - near) as Instant, until: (at + near) as Instant }
    const shown = apart && (await numberByRow(readerOf(source, { span: apart }), first))
    if (shown === 'shown again') break
    if (shown !== undefined) return shown
  }
  const again = () => source.pages.readSent(questionFor(source, span), 1)
  return numberBySmallPages(readerOf(source, { span, size: 1 }), first, again)
}

type Read = (number: number) => Promise<FetchedPage>

/** Returns a function that reads the page with exactly this number in the request. */
const readerOf =
  (source: SliceSource, { span, size }: { readonly span: Span | undefined; readonly size?: number }): Read =>
  (number) =>
    source.pages.readSent(questionFor(source, span), number, size)

/** Half the length (µs) of the window around a row's time. The second one is for services with whole seconds. */
const NEAR_MICROS = [1, 1_000_000] as const

/** Called if page 1 has no rows. Returns the first page's number; undefined if rows were added in the meantime. */
async function numberOfEmpty(read: Read): Promise<0 | 1 | undefined> {
  const zero = await pageZero(read)
  if (zero === undefined) return 1
  return zero.page.rowCount > 0 && (await read(1)).page.rowCount === 0 ? 0 : undefined
}

/**
 * Returns the number of the page that has the row. If page 2 has the row, returns `shown again`: the service repeats
 * its last page for higher numbers, or ignores numbers. Page 2 is requested first: if page 1 has the row after that,
 * the row was there all the time. Returns undefined if the row moved or no page has it.
 */
async function numberByRow(read: Read, first: FetchedPage): Promise<0 | 1 | 'shown again' | undefined> {
  const isOn = (page: FetchedPage | undefined): boolean => page !== undefined && sharedRows(page.page, first.page) > 0
  const isOnPage = async (number: number) => isOn(await read(number).catch(undefinedIfRefused))
  if (await isOnPage(2)) return 'shown again'
  if (await isOnPage(1)) return 1
  return isOn(await pageZero(read)) && !(await isOnPage(1)) ? 0 : undefined
}

/**
 * Returns the number of the first page, from pages of one row. At least two rows are necessary for two different pages.
 * `again` reads the first page again: rows that it contains both times existed during all requests. Returns undefined
 * if page 0 changes meanwhile, or if no more such rows exist than page 0 has.
 */
async function numberBySmallPages(
  read: Read,
  first: FetchedPage,
  again: () => Promise<FetchedPage>,
): Promise<0 | 1 | undefined> {
  const zero = await pageZero(read)
  const rows = zero?.page.rowCount ?? 0
  if (zero === undefined || rows > 1) return 1
  if (rows === 1) {
    const { page: one } = await read(1)
    // If a row is added or removed between the requests, page 0 and page 1 may differ or agree by chance. So page 0 is
    // read again.
    const zeros = [zero, await pageZero(read)]
    const same = zeros.filter((page) => page !== undefined && sharedRows(page.page, one) > 0).length
    if (same === 0 && zeros[1] !== undefined && one.rowCount === 1) return 0
    if (same === 1) return undefined
  }
  return first.page.rowCount > rows && sharedRows(first.page, (await again()).page) > rows ? 1 : undefined
}

/** Errors with which a service may fail for a page that does not exist, instead of refusing it. */
const FAILURES: readonly ErrorCode[] = [
  'SERVICE_UNAVAILABLE',
  'ANSWER_MALFORMED',
  'ANSWER_NOT_JSON',
  'ANSWER_TOO_LARGE',
]

/** Returns page 0; undefined if there is none. After an error of `FAILURES`, throws unless page 1 can be read. */
async function pageZero(read: Read): Promise<FetchedPage | undefined> {
  try {
    return await read(0)
  } catch (error) {
    if (!(error instanceof SyncError && FAILURES.includes(error.code))) return undefinedIfRefused(error)
    await read(1)
    return undefined
  }
}

function isSame({ page: zero }: FetchedPage, { page: one }: FetchedPage): boolean {
  if (zero.keys.length > 0) return sharedRows(zero, one) > 0
  return one.rowCount > 0 && one.lines(0).equals(zero.lines(0))
}

/**
 * Returns 0 if page 0 has the rows that the walk lacks. If rows have keys, the walk must contain no key of page 0. If
 * they have no keys, page 0 must have as many rows as the walk lacks. Returns 1 if the walk contains all keys of page
 * 0. Returns undefined in all other cases, because rows have then moved since the walk.
 */
function numberOf(walk: Walk, { page }: FetchedPage, keyed: boolean): 0 | 1 | undefined {
  if (!keyed) return walk.distinct + page.rowCount === walk.totalCount ? 0 : undefined
  const known = page.keys.filter((key) => walk.keys.has(key)).length
  if (known === 0) return 0
  return known === page.keys.length ? 1 : undefined
}
