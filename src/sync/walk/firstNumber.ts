/**
 * What page numbers count from. The specification doesn't say (spec §4, rule 2), so 1 is asked for first; where the pages
 * from there on fall short of the total by just the rows of page 0, the service counts from 0. Without a total nothing
 * would tell.
 */
import { refusedPage } from './countedWalk.ts'
import type { FetchedPage } from './pages.ts'
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
