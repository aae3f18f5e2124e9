/** Cuts a span into parts for narrower requests, which show whether the response for the whole span lacks rows. */
import type { Instant } from '../instant.ts'
import { canSplit, type Span, splitAt } from './spans.ts'
import type { RowStamps } from './stampSample.ts'

/**
 * Returns two parts with about the same number of rows, or else of the same length. Undefined: the span is one instant.
 */
export function halvesOf(span: Span & { since: Instant }, rows: readonly RowStamps[]): readonly Span[] | undefined {
  const { since, until } = span
  if (!canSplit(span)) return undefined
  const inside = rows.flat().filter((at): at is Instant => at !== undefined && at >= since && at <= until)
  const median = inside.toSorted((a, b) => a - b)[Math.floor(inside.length / 2)] ?? Math.floor((since + until) / 2)
  return splitAt(span, Math.min(Math.max(median, since + 1), until - 1) as Instant)
}
