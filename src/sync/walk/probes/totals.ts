/** Probes that ask whether a total that counts more rows than two walks brought is true. */
import { earliest, type Instant, latest } from '../../../instant.ts'
import type { Span } from '../../../plan/spans.ts'
import type { FetchedPage } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { questionFor, type SliceSource } from '../walkPages.ts'

/**
 * Returns the sum of the totals of `parts`. A service that pages to some depth only counts all rows, so its parts add up to
 * the total of the span. One that miscounts does so for each part.
 */
export async function probePartTotals(source: SliceSource, parts: readonly Span[]): Promise<number> {
  let sum = 0
  for (const part of parts) sum += (await source.pages.read(questionFor(source, part), 1)).page.envelope.totalCount ?? 0
  return sum
}

/**
 * Returns whether entries are before or behind all that two walks of a trail brought. A trail is never cut, so nothing else
 * would bring them.
 */
export async function probeOutside(source: SliceSource, span: Span, seen: readonly FetchedPage[]): Promise<boolean> {
  const stampsIn = (pages: readonly FetchedPage[]): Instant[] =>
    pages.flatMap(({ page }) => stampsOf(source.pages.report, page).flat()).filter((at) => at !== undefined)
  const stamps = stampsIn(seen)
  if (stamps.length === 0) return false
  const [begun, ended] = [earliest(...stamps), latest(...stamps)]
  const edges = [
    { since: (ended + 1) as Instant, until: span.until },
    { since: span.since, until: (begun - 1) as Instant },
  ]
  for (const edge of edges) {
    if (edge.since !== undefined && edge.since > edge.until) continue
    const shown = stampsIn([await source.pages.read(questionFor(source, edge), 1)])
    // A service with coarser bounds shows the outermost entries once more.
    if (shown.some((at) => at < begun || at > ended)) return true
  }
  return false
}
