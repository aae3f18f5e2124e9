/** Finds the ranges of creation time in which the service and the warehouse have different row counts. */
import type { Instant } from '../instant.ts'

/** `rows`: how many rows of the range the warehouse has. */
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

/** Yields times, and expects in `next` the service's row count up to that time. Returns ranges whose counts differ. */
export function* searchDiffering(
  ranges: readonly CreationRange[],
  total: number,
  rangesMax: number,
): Generator<Instant, readonly CreationRange[], number> {
  const differing: CreationRange[] = []
  /** `before` and `upTo`: the service's row counts up to the beginning and to the end of `part`. */
  function* search(part: readonly CreationRange[], before: number, upTo: number): Generator<Instant, void, number> {
    const stored = part.reduce((sum, { rows }) => sum + rows, 0)
    if (stored === upTo - before || differing.length === rangesMax) return
    const middle = Math.ceil(part.length / 2)
    const last = part[middle - 1] as CreationRange
    if (part.length === 1) differing.push(last)
    else {
      const upToMiddle = yield last.until
      yield* search(part.slice(0, middle), before, upToMiddle)
      yield* search(part.slice(middle), upToMiddle, upTo)
    }
  }
  if (ranges.length > 0) yield* search(ranges, 0, total)
  return differing
}
