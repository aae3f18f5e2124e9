/** Finds out whether the service counts pages from 0 or from 1: the specification does not define it (§4, rule 2). */
import { type ErrorCode, SyncError } from '../../../errors.ts'
import type { Instant } from '../../../instant.ts'
import { isolatedStamp, sharedRows } from '../../../plan/firstNumber.ts'
import type { Span } from '../../../plan/spans.ts'
import { totalOf, type Walk } from '../../../plan/walk.ts'
import { type FetchedPage, undefinedIfRefused } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { questionFor, type SliceSource } from '../walkPages.ts'

/** Returns the first page's number: 0 if page 0 has rows that the walk lacks, otherwise 1. Undefined if rows moved. */
export async function probePageZero(source: SliceSource, span: Span | undefined, walk: Walk) {
  const read = readerOf(source, { span, size: walk.rowsAsked })
  const zero = await pageZero(read)
  const isNone = zero === undefined || zero.page.rowCount === 0
  if (isNone || isSame(zero, await read(1))) return 1
  return numberOf(walk, zero, source.settings.keyed)
}

/** Requests one row alone, so that one page has rows. Returns its number, or undefined if the rows have moved. */
export async function probeFirstNumber(source: SliceSource, span: Span | undefined, first: FetchedPage) {
  if (first.page.rowCount === 0) return numberOfEmpty(readerOf(source, { span }))
  const stamps = stampsOf(source.pages.report, first.page)
  for (const near of NEAR_MICROS) {
    const at = isolatedStamp(stamps, near)
    const apart = at && { since: (at - near) as Instant, until: (at + near) as Instant }
    const shown = apart && (await numberByRow(readerOf(source, { span: apart }), first))
    if (shown === 'shown again') break
    if (shown !== undefined) return shown
  }
  const again = () => source.pages.readExactNumber(questionFor(source, span), 1)
  return numberBySmallPages(readerOf(source, { span, size: 1 }), first, again)
}

type Read = (number: number) => Promise<FetchedPage>

const readerOf =
  (source: SliceSource, { span, size }: { readonly span: Span | undefined; readonly size?: number }): Read =>
  (number) =>
    source.pages.readExactNumber(questionFor(source, span), number, size)

/** A row is requested with a window of this much (µs) on both sides: the second value for times in whole seconds. */
const NEAR_MICROS = [1, 1_000_000] as const

async function numberOfEmpty(read: Read): Promise<0 | 1 | undefined> {
  const zero = await pageZero(read)
  if (zero === undefined) return 1
  return zero.page.rowCount > 0 && (await read(1)).page.rowCount === 0 ? 0 : undefined
}

async function numberByRow(read: Read, first: FetchedPage): Promise<0 | 1 | 'shown again' | undefined> {
  const isOn = (page: FetchedPage | undefined): boolean => page !== undefined && sharedRows(page.page, first.page) > 0
  const isOnPage = async (number: number) => isOn(await read(number).catch(undefinedIfRefused))
  // Page 2 is read first. Otherwise a row that moves from page 1 to page 2 in between would be on both.
  if (await isOnPage(2)) return 'shown again'
  if (await isOnPage(1)) return 1
  return isOn(await pageZero(read)) && !(await isOnPage(1)) ? 0 : undefined
}

/** Learns the first number from pages of one row each. Returns undefined if rows changed or there are too few. */
async function numberBySmallPages(read: Read, first: FetchedPage, again: () => Promise<FetchedPage>) {
  const zero = await pageZero(read)
  const rows = zero?.page.rowCount ?? 0
  if (zero === undefined || rows > 1) return 1
  if (rows === 1) {
    const { page: one } = await read(1)
    // Pages 0 and 1 may be equal or different only because a row has changed, so page 0 is read again.
    const zeros = [zero, await pageZero(read)]
    const same = zeros.filter((page) => page !== undefined && sharedRows(page.page, one) > 0).length
    if (same === 0 && zeros[1] !== undefined && one.rowCount === 1) return 0
    if (same === 1) return undefined
  }
  // Rows that both reads of the first page returned existed the whole time. If the service counted pages from 0,
  // page 0 or page 1 would contain more of them.
  return first.page.rowCount > rows && sharedRows(first.page, (await again()).page) > rows ? 1 : undefined
}

/** A service may fail with these errors if a page does not exist. */
const FAILED: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'ANSWER_MALFORMED', 'ANSWER_NOT_JSON', 'ANSWER_TOO_LARGE']

/** Returns undefined if page 0 is refused, or if page 0 fails and page 1 does not. */
async function pageZero(read: Read): Promise<FetchedPage | undefined> {
  try {
    return await read(0)
  } catch (error) {
    if (!(error instanceof SyncError && FAILED.includes(error.code))) return undefinedIfRefused(error)
    await read(1)
    return undefined
  }
}

function isSame({ page: zero }: FetchedPage, { page: one }: FetchedPage): boolean {
  if (zero.keys.length > 0) return sharedRows(zero, one) > 0
  return one.rowCount > 0 && one.lines(0).equals(zero.lines(0))
}

/** Returns 0 if page 0 has rows that the walk lacks, otherwise 1. Undefined if rows have moved since the walk. */
function numberOf(walk: Walk, { page }: FetchedPage, keyed: boolean): 0 | 1 | undefined {
  if (!keyed) return walk.distinct + page.rowCount === totalOf(walk) ? 0 : undefined
  const known = page.keys.filter((key) => walk.keys.has(key)).length
  if (known === 0) return 0
  return known === page.keys.length ? 1 : undefined
}
