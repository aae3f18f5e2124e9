/** Divides a span in two. Requests for the parts show whether the response for the whole span lacks rows. */
import type { Instant } from '../instant.ts'
import { canSplit, type Span, splitAt } from './spans.ts'
import type { RowStamps } from './stampSample.ts'

/** Returns two parts with about equally many rows, or else of equal length; undefined if the span can't be cut. */
export function halvesOf(span: Span & { since: Instant }, rows: readonly RowStamps[]): readonly Span[] | undefined {
  const { since, until } = span
  if (!canSplit(span)) return undefined
  const inside = rows.flat().filter((at): at is Instant => at !== undefined && at >= since && at <= until)
  const median = inside.toSorted((a, b) => a - b)[Math.floor(inside.length / 2)] ?? Math.floor((since + until) / 2)
  return splitAt(span, Math.min(Math.max(median, since + 1), until - 1) as Instant)
}
