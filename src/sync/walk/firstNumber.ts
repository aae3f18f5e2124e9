/**
 * What page numbers count from. The specification doesn't say (spec §4, rule 2), so 1 is asked for first; where the pages
 * from there on fall short of the total by just the rows of page 0, the service counts from 0. Without a total nothing
 * would tell: there page 0 is looked at before the first page is believed.
 */
import { type ErrorCode, SyncError } from '../../errors.ts'
import { type FetchedPage, refusedPage } from './pages.ts'
import type { Walk } from './pageWalk.ts'

/** Looks at page 0 behind a walk to the end that brought fewer rows than its total; remembers what that shows. */
export async function countsFromZero(walk: Walk): Promise<boolean> {
  const { state } = walk
  const { reader } = walk.parts
  if (reader.firstNumber !== undefined || (state.totalCount ?? 0) <= state.distinct) return false
  const zero = await walk.look(0).catch(refusedPage)
  const isNone = zero === undefined || zero.page.rowCount === 0
  if (isNone || isSame(zero, await walk.look(1))) reader.learnFirstNumber(1)
  else if (isBefore(walk, zero)) reader.learnFirstNumber(0)
  return reader.firstNumber === 0
}

/**
 * Whether a bare array has to be read again from page 0 on. Page 0 is looked at before anything is believed of the
 * report's pages, once: what it shows is kept with their sizes.
 */
export async function startsAtZero(walk: Walk, first: FetchedPage): Promise<boolean> {
  const { reader, sizes, learn } = walk.parts
  if (reader.keyed && sizes().firstNumber === undefined) {
    const number = reader.firstNumber ?? (await firstNumberOf(walk, first))
    if (number === 0) reader.learnFirstNumber(0)
    if (number !== undefined) learn({ ...sizes(), firstNumber: number })
  }
  // Another report may have shown it, also while this page was under way.
  return reader.firstNumber === 0 && first.sent > 0
}

/**
 * What page 0 says: it is a page of its own if it is as long as page 1 and no row of it stands there, now neither.
 * Undefined: there is no row by which to tell, or rows moved from one to the other.
 */
async function firstNumberOf(walk: Walk, first: FetchedPage): Promise<0 | 1 | undefined> {
  const zero = await pageZero(walk)
  if (zero === undefined) return 1
  const { rowCount } = zero.page
  if (rowCount === 0) return first.page.rowCount === 0 ? undefined : 1
  if (rowCount < first.page.rowCount) return 1
  const one = sharedRows(zero, first) === 0 ? await walk.look(1) : first
  const shared = sharedRows(zero, one)
  if (shared === 0) return 0
  return shared > rowCount * MOVED_SHARE_MAX ? 1 : undefined
}

/** Of the rows of a page: more don't move to the one before while both are read. */
const MOVED_SHARE_MAX = 0.5

/** What a service may answer for a page that it doesn't have, beside a refusal. */
const FAILURES: readonly ErrorCode[] = ['SERVICE_UNAVAILABLE', 'ANSWER_MALFORMED', 'ANSWER_NOT_JSON']

/** Undefined: the service has no such page. Where it fails, that is said of page 0 only if page 1 comes after it. */
async function pageZero(walk: Walk): Promise<FetchedPage | undefined> {
  try {
    return await walk.look(0)
  } catch (error) {
    if (!(error instanceof SyncError && FAILURES.includes(error.code))) return refusedPage(error)
    await walk.look(1)
    return undefined
  }
}

function sharedRows({ page: zero }: FetchedPage, { page: one }: FetchedPage): number {
  const keys = new Set(zero.keys)
  return one.keys.filter((key) => keys.has(key)).length
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
