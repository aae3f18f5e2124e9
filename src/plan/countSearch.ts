/**
 * Finds the ranges of creation time in which the service has more or fewer rows than the warehouse. Since creation
 * times never change, the service's total up to a time can be compared with the number of stored rows up to it.
 */
import type { Instant } from '../instant.ts'

/** A range of creation time that was read. `rows`: how many of the stored rows the service returned for this range. */
export interface CreationNote {
  /** Lower bound; undefined: none. */
  readonly since: Instant | undefined
  readonly until: Instant
  readonly rows: number
}

/** Returns the notes as cells: ranges that have at most a bound in common, earliest first. Joins notes that overlap. */
export function cellsOf(notes: readonly CreationNote[]): readonly CreationNote[] {
  const cells: CreationNote[] = []
  const from = ({ since }: CreationNote): number => since ?? Number.NEGATIVE_INFINITY
  for (const note of notes.toSorted((a, b) => from(a) - from(b) || a.until - b.until)) {
    const last = cells.at(-1)
    if (last === undefined || from(note) >= last.until) cells.push(note)
    else {
      const until = Math.max(last.until, note.until) as Instant
      cells[cells.length - 1] = { since: last.since, until, rows: last.rows + note.rows }
    }
  }
  return cells
}

interface Range {
  /** Some adjacent cells: those with the indexes `from` to `to - 1`. */
  readonly from: number
  readonly to: number
  /** The service's number of rows: `before` before the cell `from`, and `total` before the cell `to`. */
  readonly before: number
  readonly total: number
}

/** Bisects the cells. The caller requests the service's total up to each time from `next()` and passes it to `saw`. */
export class CountSearch {
  /** Cells whose number of stored rows differs from the service's number. */
  readonly wrong: CreationNote[] = []
  readonly #cells: readonly CreationNote[]
  readonly #held: readonly number[]
  readonly #cellsMax: number
  #open: Range[]

  /** `total`: the service's number of rows in all cells. The search ends when it has found `cellsMax` wrong cells. */
  constructor(cells: readonly CreationNote[], total: number, cellsMax: number) {
    this.#cells = cells
    this.#cellsMax = cellsMax
    let held = 0
    this.#held = [0, ...cells.map(({ rows }) => (held += rows))]
    this.#open = [{ from: 0, to: cells.length, before: 0, total }]
    this.#settle()
  }

  /** Returns the time up to which the service's total is needed next; undefined when the search has ended. */
  next(): Instant | undefined {
    const range = this.#open.at(-1)
    return range && this.#cells[this.#middleOf(range) - 1]?.until
  }

  saw(total: number): void {
    const range = this.#open.pop()
    if (range === undefined) return
    const middle = this.#middleOf(range)
    this.#open.push({ ...range, from: middle, before: total }, { ...range, to: middle, total })
    this.#settle()
  }

  #middleOf({ from, to }: Range): number {
    return from + Math.ceil((to - from) / 2)
  }

  /** Drops ranges whose counts are equal, and moves single cells whose counts differ to `wrong`. */
  #settle(): void {
    for (let range = this.#open.at(-1); range !== undefined; range = this.#open.at(-1)) {
      const { from, to, before, total } = range
      const held = (this.#held[to] ?? 0) - (this.#held[from] ?? 0)
      const cell = this.#cells[from]
      if (held !== total - before && to - from > 1) return
      this.#open.pop()
      if (held !== total - before && cell !== undefined) this.wrong.push(cell)
      if (this.wrong.length === this.#cellsMax) this.#open = []
    }
  }
}
