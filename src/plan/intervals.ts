/**
 * Computes from the spans that were read which time is covered, which gaps remain, and where the first gap begins.
 * Bounds are inclusive (spec §4, rule 1), so there is no gap between two spans with a common instant.
 */
import { type Instant, latest } from '../instant.ts'
import type { Span } from './spans.ts'

const lowerOf = ({ since }: Span): number => since ?? Number.NEGATIVE_INFINITY

/**
 * Merges spans that overlap or touch. The result covers the same time with the fewest spans, earliest first. Leaves out
 * spans that end before they begin, such as a slice of the last second, which is later than the service's clock.
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

/** Returns the gaps between the spans, and the gap from `from` to the earliest span. */
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
 * Returns the end of the time that the spans cover from `from` on without a gap; `from` itself if no span contains it.
 * If `from` is undefined, the covered time begins with the earliest span.
 */
export function provenUpTo(from: Instant | undefined, spans: readonly Span[]): Instant | undefined {
  const islands = merged(spans)
  if (from === undefined) return islands[0]?.until
  const reaching = islands.find((island) => lowerOf(island) <= from && island.until >= from)
  return reaching?.until ?? from
}
