/** Picks a row that can be requested alone, to find out whether page numbers begin at 0 or 1. */
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
  readonly row: number
}

/** A time is compared with two times on each side, because the nearest time may belong to the same row. */
const NEIGHBOURS = [-2, -1, 1, 2] as const

/** Returns a modification time that is more than `nearMicros` µs from the times of all other rows. */
export function isolatedStamp(rows: readonly RowStamps[], nearMicros: number): Instant | undefined {
  const stamps = rows
    .flatMap((row, index) => [...new Set(row)].flatMap((at): Stamp[] => (at === undefined ? [] : [{ at, row: index }])))
    .toSorted((a, b) => a.at - b.at)
  const isNear = (a: Stamp, b: Stamp | undefined) =>
    b !== undefined && b.row !== a.row && Math.abs(a.at - b.at) <= nearMicros
  return stamps.find((each, n) => !NEIGHBOURS.some((step) => isNear(each, stamps[n + step])))?.at
}
