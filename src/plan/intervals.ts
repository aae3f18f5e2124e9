/**
 * Spans that were read, put together: which time is covered, where gaps are, how far everything is proven without one.
 * Bounds are inclusive (spec §4, rule 1), so spans that share an instant leave nothing between them.
 */
import { type Instant, latest } from '../instant.ts'
import type { Span } from './spans.ts'

const lowerOf = ({ since }: Span): number => since ?? Number.NEGATIVE_INFINITY

/**
 * The same time as few spans that don't touch, earliest first. A span that ends before it begins holds no time: such is
 * what a slice proves that lies between the service's clock and the end of the window, a second later.
 */
export function merged(spans: readonly Span[]): Span[] {
  const islands: Span[] = []
  const real = spans.filter((span) => lowerOf(span) <= span.until)
  for (const span of real.toSorted((a, b) => lowerOf(a) - lowerOf(b) || 0)) {
    const last = islands.at(-1)
    if (last === undefined || lowerOf(span) > last.until) islands.push(span)
    else if (span.until > last.until) islands[islands.length - 1] = { since: last.since, until: span.until }
  }
  return islands
}

/** What lies between the spans, and between `from` and the first of them. */
export function gapsIn(spans: readonly Span[], from: Instant): (Span & { readonly since: Instant })[] {
  const gaps: { since: Instant; until: Instant }[] = []
  let reached = from
  for (const { since, until } of merged(spans)) {
    if (since !== undefined && since > reached) gaps.push({ since: reached, until: since })
    reached = latest(reached, until)
  }
  return gaps
}

/**
 * The end of what is proven without a gap from `from` on; `from` itself where nothing touches it. Without a `from`,
 * only a span without a lower bound, or the earliest one, is a beginning.
 */
export function provenUpTo(from: Instant | undefined, spans: readonly Span[]): Instant | undefined {
  const islands = merged(spans)
  if (from === undefined) return islands[0]?.until
  const reaching = islands.find((island) => lowerOf(island) <= from && island.until >= from)
  return reaching?.until ?? from
}
