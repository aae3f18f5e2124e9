/**
 * What page numbers count from. The specification doesn't say (spec §4, rule 2), so 1 is asked for first; where the pages
 * from there on fall short of the total by just the rows of page 0, the service counts from 0. Without a total nothing
 * would tell: a row that page 1 showed is asked for by itself, and stands on the first page then.
 */
import { type ErrorCode, SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { loneStamp, sharedRows, type Shown, shownBy } from '../../plan/firstNumber.ts'
import { type FetchedPage, refusedPage } from './pages.ts'
import type { Walk } from './pageWalk.ts'
import { stampsOf } from './stampsOf.ts'

/** Looks at page 0 behind a walk to the end that brought fewer rows than its total; remembers what that shows. */
export async function countsFromZero(walk: Walk): Promise<boolean> {
  const { state } = walk
  const { reader } = walk.parts
  if (reader.firstNumber !== undefined || (state.totalCount ?? 0) <= state.distinct) return false
  const zero = await pageZero((number) => walk.look(number))
  const isNone = zero === undefined || zero.page.rowCount === 0
  if (isNone || isSame(zero, await walk.look(1))) reader.learnFirstNumber(1)
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
  // Another report may have shown it, also while this page was under way.
  return reader.firstNumber === 0 && first.sent > 0
}

/** So near the stamp of a row is asked for, in µs: a service may know whole seconds only. Last: the whole span. */
const NEAR_MICROS = [1, 1_000_000, undefined] as const

/** Undefined: there is no row by which to tell, or rows move faster than they can be asked for. */
async function firstNumberOf(walk: Walk, first: FetchedPage): Promise<0 | 1 | undefined> {
  for (const near of NEAR_MICROS) {
    const shown = await shownNear(walk, first, near)
    if (shown === 'no rows' && first.page.rowCount === 0) return undefined
    if (shown === 0 || shown === 1) return shown
  }
  return undefined
}

/**
 * What is shown by a row of page 1, asked for by its own stamp: where it is on page 1 again, pages count from 1, and page
 * 0 isn't asked for. It may hold far more than a page, so it is only where page 1 doesn't hold that row.
 */
async function shownNear(walk: Walk, first: FetchedPage, near: number | undefined): Promise<Shown> {
  const { reader, ask } = walk.parts
  const at = near && loneStamp(stampsOf(reader.report, first.page), near)
  const span = near && at && { since: (at - near) as Instant, until: (at + near) as Instant }
  const read = (number: number): Promise<FetchedPage> => reader.read(ask(span || walk.span), number)
  const before = span ? await read(1) : first
  if (span && sharedRows(before.page, first.page) > 0) return 1
  const zero = await pageZero(read)
  return zero === undefined ? 1 : shownBy(before.page, zero.page, (await read(1)).page)
}

/** What a service may answer for a page that it doesn't have, beside a refusal. */
const FAILURES: readonly ErrorCode[] = [
  'SERVICE_UNAVAILABLE',
  'ANSWER_MALFORMED',
  'ANSWER_NOT_JSON',
  'ANSWER_TOO_LARGE',
]

/** Undefined: the service has no such page. Where it fails, that is said of page 0 only if page 1 comes after it. */
async function pageZero(read: (number: number) => Promise<FetchedPage>): Promise<FetchedPage | undefined> {
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
  const keys = new Set(zero.keys)
  return keys.size === 0
    ? one.rowCount > 0 && one.lines(0).equals(zero.lines(0))
    : one.keys.some((key) => keys.has(key))
}

/** Whether the page brings what the walk lacks; of rows without a key only their number says so. */
function isBefore({ state, parts }: Walk, { page }: FetchedPage): boolean {
  if (parts.reader.keyed) return !page.keys.some((key) => state.keys.has(key))
  return state.distinct + page.rowCount === state.totalCount
}
