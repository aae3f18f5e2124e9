/** What tells what page numbers count from (spec §4, rule 2, doesn't): a row that can be asked for by itself. Pure. */
import type { Instant } from '../instant.ts'
import type { RowStamps } from './stampSample.ts'

export interface PageRows {
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
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
