/** Finds the ranges of creation time in which the service and the warehouse have different numbers of rows. */
import type { Instant } from '../instant.ts'

/** A requested range of creation time. `rows` is the number of stored rows that the service returned for it. */
export interface CreationRange {
  readonly since: Instant | undefined
  readonly until: Instant
  readonly rows: number
}

export function mergedRanges(notes: readonly CreationRange[]): readonly CreationRange[] {
  const ranges: CreationRange[] = []
  const from = ({ since }: CreationRange): number => since ?? Number.NEGATIVE_INFINITY
  for (const note of notes.toSorted((a, b) => from(a) - from(b) || a.until - b.until)) {
    const last = ranges.at(-1)
    if (last === undefined || from(note) >= last.until) ranges.push(note)
    else {
      const until = Math.max(last.until, note.until) as Instant
      ranges[ranges.length - 1] = { since: last.since, until, rows: last.rows + note.rows }
    }
  }
  return ranges
}

interface RangeGroup {
  /** The group has the ranges with the indexes `from` to `to - 1`. */
  readonly from: number
  readonly to: number
  /** The service has `before` rows in all ranges before index `from`, and `total` rows in all before index `to`. */
  readonly before: number
  readonly total: number
}

/** `next()` returns a time. The caller requests the number of rows up to this time and passes the number to `saw`. */
export class CountSearch {
  readonly differingRanges: CreationRange[] = []
  readonly #ranges: readonly CreationRange[]
  readonly #storedBefore: readonly number[]
  readonly #rangesMax: number
  #open: RangeGroup[]

  /** `total`: the service's number of rows in all ranges. The search ends after `rangesMax` wrong ranges. */
  constructor(ranges: readonly CreationRange[], total: number, rangesMax: number) {
    this.#ranges = ranges
    this.#rangesMax = rangesMax
    let stored = 0
    this.#storedBefore = [0, ...ranges.map(({ rows }) => (stored += rows))]
    this.#open = [{ from: 0, to: ranges.length, before: 0, total }]
    this.#settle()
  }

  next(): Instant | undefined {
    const group = this.#open.at(-1)
    return group && this.#ranges[this.#middleOf(group) - 1]?.until
  }

  saw(total: number): void {
    const group = this.#open.pop()
    if (group === undefined) return
    const middle = this.#middleOf(group)
    this.#open.push({ ...group, from: middle, before: total }, { ...group, to: middle, total })
    this.#settle()
  }

  #middleOf({ from, to }: RangeGroup): number {
    return from + Math.ceil((to - from) / 2)
  }

  /**
   * Drops groups whose number of stored rows is right. If one range of a group is left and its number is wrong, the
   * range is added to the result.
   */
  #settle(): void {
    for (let group = this.#open.at(-1); group !== undefined; group = this.#open.at(-1)) {
      const { from, to, before, total } = group
      const stored = (this.#storedBefore[to] ?? 0) - (this.#storedBefore[from] ?? 0)
      const range = this.#ranges[from]
      if (stored !== total - before && to - from > 1) return
      this.#open.pop()
      if (stored !== total - before && range !== undefined) this.differingRanges.push(range)
      if (this.differingRanges.length === this.#rangesMax) this.#open = []
    }
  }
}
