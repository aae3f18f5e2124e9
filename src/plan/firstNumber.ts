/**
 * What page numbers count from, as the answers to a few small questions show it (spec §4, rule 2, doesn't say). Pure: the
 * story asks them.
 */
import type { Instant } from '../instant.ts'
import type { RowStamps } from './stampSample.ts'

export interface PageRows {
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
}

/** `moved`: rows came or went between the answers. */
export type Shown = 0 | 1 | 'no rows' | 'moved'

/** Of the rows of a page: more don't move to the one before while both are read. */
const MOVED_SHARE_MAX = 0.5

/** What page 0 shows, by page 1 before and after it: one of its own, page 1 under another number, or none. */
export function shownBy(before: PageRows, zero: PageRows, after: PageRows): Shown {
  if (zero.rowCount === 0) {
    if (before.rowCount === 0 && after.rowCount === 0) return 'no rows'
    return before.rowCount > 0 && after.rowCount > 0 ? 1 : 'moved'
  }
  const shared = Math.max(sharedRows(before, zero), sharedRows(after, zero))
  if (shared > zero.rowCount * MOVED_SHARE_MAX) return 1
  return shared === 0 && after.rowCount <= zero.rowCount ? 0 : 'moved'
}

export function sharedRows(a: PageRows, b: PageRows): number {
  const keys = new Set(a.keys)
  return b.keys.filter((key) => keys.has(key)).length
}

interface Stamp {
  readonly at: Instant
  /** Place of its row on the page. */
  readonly row: number
}

/** A row has two stamps at most, so one of the next two on either side is another row's. */
const NEIGHBOURS = [-2, -1, 1, 2] as const

/** A stamp that no other row of the page has a stamp near: what is asked so closely is that row and few others. */
export function loneStamp(rows: readonly RowStamps[], nearMicros: number): Instant | undefined {
  const stamps = rows
    .flatMap((row, index) => [...new Set(row)].flatMap((at): Stamp[] => (at === undefined ? [] : [{ at, row: index }])))
    .toSorted((a, b) => a.at - b.at)
  const isNear = (a: Stamp, b: Stamp | undefined) =>
    b !== undefined && b.row !== a.row && Math.abs(a.at - b.at) <= nearMicros
  return stamps.find((each, n) => !NEIGHBOURS.some((step) => isNear(each, stamps[n + step])))?.at
}
