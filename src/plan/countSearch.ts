/**
 * Finds by totals in which spans of creation the service has more or fewer rows than are held. A time of creation never
 * changes, so the total of everything created up to a time counts the same rows as those held of the spans before it.
 */
import type { Instant } from '../instant.ts'

/** Rows held that the service returned for one span of creation. */
export interface CreationNote {
  /** Undefined: without a lower bound. */
  readonly since: Instant | undefined
  readonly until: Instant
  readonly rows: number
}

/**
 * Returns the notes as spans that share no more than an edge, earliest first. Notes that overlap become one span, since each of
 * their rows may be anywhere in its note.
 */
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
  /** Number of the cells before it, and of those up to its end. */
  readonly from: number
  readonly to: number
  /** The service's totals of those cells. */
  readonly before: number
  readonly total: number
}

/** A bisection over cells. Ask for the total up to `next()` and pass it to `saw`, until `next()` is undefined. */
export class CountSearch {
  /** Cells with another number of rows than the service counts. */
  readonly wrong: CreationNote[] = []
  readonly #cells: readonly CreationNote[]
  readonly #held: readonly number[]
  readonly #cellsMax: number
  #open: Range[]

  /** `total`: of all cells. The search ends when `cellsMax` cells are found. */
  constructor(cells: readonly CreationNote[], total: number, cellsMax: number) {
    this.#cells = cells
    this.#cellsMax = cellsMax
    let held = 0
    this.#held = [0, ...cells.map(({ rows }) => (held += rows))]
    this.#open = [{ from: 0, to: cells.length, before: 0, total }]
    this.#settle()
  }

  /** The time up to which the next total is needed. Undefined: the search is over. */
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

  /** Drops ranges whose counts are equal, and takes single cells out. */
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
