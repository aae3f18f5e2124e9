/**
 * What page numbers count from. The specification doesn't say (spec §4, rule 2), so 1 is asked for first; where the pages
 * from there on fall short of the total by just the rows of page 0, the service counts from 0. Without a total nothing
 * would tell: a row that page 1 showed is asked for by itself, and stands on the first page then.
 */
import { type ErrorCode, SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { loneStamp, sharedRows } from '../../plan/firstNumber.ts'
import type { Span } from '../../plan/spans.ts'
import { type FetchedPage, refusedPage } from './pages.ts'
import type { Walk } from './pageWalk.ts'
import { stampsOf } from './stampsOf.ts'

/** Looks at page 0 behind a walk to the end that brought fewer rows than its total; remembers what that shows. */
export async function countsFromZero(walk: Walk): Promise<boolean> {
  const { state } = walk
  const { reader } = walk.parts
  if (reader.firstNumber !== undefined || (state.totalCount ?? 0) <= state.distinct) return false
  const read = reading(walk, { size: walk.size })
  const zero = await pageZero(read)
  const isNone = zero === undefined || zero.page.rowCount === 0
  if (isNone || isSame(zero, await read(1))) reader.learnFirstNumber(1)
  else if (isBefore(walk, zero)) reader.learnFirstNumber(0)
  return reader.firstNumber === 0
}

/**
 * Whether a bare array has to be read again from page 0 on. Asked before anything is believed of the report's pages, until
 * it is known: that is kept with their sizes.
 */
export async function startsAtZero(walk: Walk, first: FetchedPage): Promise<boolean> {
  const { reader, sizes, learn } = walk.parts
  if (reader.report.answer !== 'array') return false
  if (sizes().firstNumber === undefined) {
    const number = reader.firstNumber ?? (await firstNumberOf(walk, first))
    if (number === 0) reader.learnFirstNumber(0)
    if (number !== undefined) learn({ ...sizes(), firstNumber: number })
  }
  return reader.firstNumber === 0 && first.sent > 0
}

type Read = (number: number) => Promise<FetchedPage>

/** Reads pages by their numbers on the wire: of the walk's span, unless another is given. */
const reading =
  ({ parts, span }: Walk, how: { readonly span?: Span; readonly size?: number } = {}): Read =>
  (number) =>
    parts.reader.readSent(parts.ask(how.span ?? span), number, how.size)

/** So near the stamp of a row is asked for, in µs: a service may know whole seconds only. */
const NEAR_MICROS = [1, 1_000_000] as const

/** Undefined: there is no row by which to tell, or rows move faster than they can be asked for. */
async function firstNumberOf(walk: Walk, first: FetchedPage): Promise<0 | 1 | undefined> {
  if (first.page.rowCount === 0) return numberOfEmpty(walk)
  const stamps = stampsOf(walk.parts.reader.report, first.page)
  for (const near of NEAR_MICROS) {
    const at = loneStamp(stamps, near)
    const span = at && { since: (at - near) as Instant, until: (at + near) as Instant }
    const shown = span && (await numberByRow(walk, first, span))
    if (shown === 'shown again') break
    if (shown !== undefined) return shown
  }
  return numberBySmallPages(walk, first)
}

/** Page 1 has no rows: page 0 may. Rows that came meanwhile say nothing. */
async function numberOfEmpty(walk: Walk): Promise<0 | 1 | undefined> {
  const read = reading(walk)
  const zero = await pageZero(read)
  if (zero === undefined) return 1
  return zero.page.rowCount > 0 && (await read(1)).page.rowCount === 0 ? 0 : undefined
}

/**
 * By a row of page 1 that is asked for apart from others, and is on the first page then. Page 0 is only asked for where
 * page 1 doesn't hold that row: it may be everything there is.
 */
async function numberByRow(walk: Walk, first: FetchedPage, span: Span): Promise<0 | 1 | 'shown again' | undefined> {
  const read = reading(walk, { span })
  const isOn = (page: FetchedPage | undefined): boolean => page !== undefined && sharedRows(page.page, first.page) > 0
  // On page 2 as well: the service shows its last page for every later number, and that may be page 0.
  if (isOn(await read(1))) return isOn(await read(2).catch(refusedPage)) ? 'shown again' : 1
  return isOn(await pageZero(read)) && !isOn(await read(1)) ? 0 : undefined
}

/** By pages of one row, so that there are several of them. Where there is one row only, nothing tells. */
async function numberBySmallPages(walk: Walk, first: FetchedPage): Promise<0 | 1 | undefined> {
  const read = reading(walk, { size: 1 })
  const zero = await pageZero(read)
  if (zero?.page.rowCount !== 1) return 1
  const { page: one } = await read(1)
  // Once more: the row before may have gone, and page 1 be the same page.
  const isOther = [zero, await pageZero(read)].every((page) => page !== undefined && sharedRows(page.page, one) === 0)
  if (one.rowCount === 1 && isOther) return 0
  return first.page.rowCount > 1 ? 1 : undefined
}

/** What a service may answer for a page that it doesn't have, beside a refusal. */
const FAILURES: readonly ErrorCode[] = [
  'SERVICE_UNAVAILABLE',
  'ANSWER_MALFORMED',
  'ANSWER_NOT_JSON',
  'ANSWER_TOO_LARGE',
]

/** Undefined: the service has no such page. Where it fails, that is said of page 0 only if page 1 comes after it. */
async function pageZero(read: Read): Promise<FetchedPage | undefined> {
  try {
    return await read(0)
  } catch (error) {
    if (!(error instanceof SyncError && FAILURES.includes(error.code))) return refusedPage(error)
    await read(1)
    return undefined
  }
}

/** Whether page 0 is page 1 under another number. */
function isSame({ page: zero }: FetchedPage, { page: one }: FetchedPage): boolean {
  if (zero.keys.length > 0) return sharedRows(zero, one) > 0
  return one.rowCount > 0 && one.lines(0).equals(zero.lines(0))
}

/** Whether the page brings what the walk lacks; of rows without a key only their number says so. */
function isBefore({ state, parts }: Walk, { page }: FetchedPage): boolean {
  if (parts.reader.keyed) return !page.keys.some((key) => state.keys.has(key))
  return state.distinct + page.rowCount === state.totalCount
}
