/**
 * Row numbers in the order of their stamps, kept in blocks so that an edit among a million rows moves a few hundred
 * numbers, and the n-th row of a range is found by counting blocks. Ties are ordered by row number.
 */
import type { Ticks } from './ticks.ts'

const BLOCK_ROWS_MAX = 2_048

export interface Range {
  /** Position of the first row of the range. */
  readonly start: number
  readonly count: number
}

export class OrderedIndex {
  #blocks: number[][] = []
  #size = 0
  readonly #stampOf: (row: number) => Ticks

  /** `sorted` must be in order, and a row's stamp may only change while the row is not in here. */
  constructor(stampOf: (row: number) => Ticks, sorted: readonly number[]) {
    this.#stampOf = stampOf
    for (let i = 0; i < sorted.length; i += BLOCK_ROWS_MAX / 2)
      this.#blocks.push(sorted.slice(i, i + BLOCK_ROWS_MAX / 2))
    this.#size = sorted.length
  }

  get size(): number {
    return this.#size
  }

  add(row: number): void {
    this.#size += 1
    const at = Math.min(this.#blockFor(this.#stampOf(row), row), this.#blocks.length - 1)
    const block = this.#blocks[at]
    if (block === undefined) {
      this.#blocks.push([row])
      return
    }
    block.splice(this.#within(block, this.#stampOf(row), row), 0, row)
    if (block.length > BLOCK_ROWS_MAX) this.#blocks.splice(at + 1, 0, block.splice(BLOCK_ROWS_MAX / 2))
  }

  remove(row: number): void {
    const at = this.#blockFor(this.#stampOf(row), row)
    const block = this.#blocks[at]
    const place = block === undefined ? -1 : this.#within(block, this.#stampOf(row), row)
    if (block?.[place] !== row) return
    block.splice(place, 1)
    this.#size -= 1
    if (block.length === 0) this.#blocks.splice(at, 1)
  }

  /** The rows whose stamp lies in [since, until]; both bounds belong to it (spec §4, rule 1). */
  range(since: Ticks, until: Ticks): Range {
    const start = this.#countBelow(since, -1)
    return { start, count: Math.max(0, this.#countBelow(until, Number.POSITIVE_INFINITY) - start) }
  }

  /** Up to `count` rows from position `start` on. */
  slice(start: number, count: number): number[] {
    const rows: number[] = []
    let before = 0
    for (const block of this.#blocks) {
      if (before + block.length > start) {
        const from = Math.max(0, start - before)
        for (let i = from; i < block.length && rows.length < count; i += 1) rows.push(block[i] as number)
        if (rows.length >= count) break
      }
      before += block.length
    }
    return rows
  }

  /** How many rows come before (stamp, row). */
  #countBelow(stamp: Ticks, row: number): number {
    const at = this.#blockFor(stamp, row)
    let count = 0
    for (let i = 0; i < at; i += 1) count += this.#blocks[i]?.length ?? 0
    const block = this.#blocks[at]
    return block === undefined ? count : count + this.#within(block, stamp, row)
  }

  /** The first block whose last row is not before (stamp, row). */
  #blockFor(stamp: Ticks, row: number): number {
    let low = 0
    let high = this.#blocks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const last = this.#blocks[middle]?.at(-1) as number
      if (this.#isBefore(last, stamp, row)) low = middle + 1
      else high = middle
    }
    return low
  }

  #within(block: readonly number[], stamp: Ticks, row: number): number {
    let low = 0
    let high = block.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#isBefore(block[middle] as number, stamp, row)) low = middle + 1
      else high = middle
    }
    return low
  }

  #isBefore(candidate: number, stamp: Ticks, row: number): boolean {
    const other = this.#stampOf(candidate)
    return other < stamp || (other === stamp && candidate < row)
  }
}

/** All row numbers below `count`, by stamp, then by number. */
export function sortedRows(count: number, stampOf: (row: number) => Ticks): number[] {
  const stamps = Float64Array.from({ length: count }, (_, row) => stampOf(row))
  return Array.from({ length: count }, (_, row) => row).sort((a, b) => {
    const left = stamps[a] as number
    const right = stamps[b] as number
    return left === right ? a - b : left < right ? -1 : 1
  })
}
