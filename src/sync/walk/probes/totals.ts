/** Checks whether a total is true that is higher than the rows of two walks. */
import { earliest, type Instant, latest } from '../../../instant.ts'
import type { Span } from '../../../plan/spans.ts'
import type { FetchedPage } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { questionFor, type SliceSource } from '../walkPages.ts'

/**
 * Returns the sum of the totals of `parts`. If the service stops paging at some depth, it still counts all rows, and
 * the sum equals the total of the span. If it miscounts, it miscounts each part.
 */
export async function probePartTotals(source: SliceSource, parts: readonly Span[]): Promise<number> {
  let sum = 0
  for (const part of parts) sum += (await source.pages.read(questionFor(source, part), 1)).page.envelope.totalCount ?? 0
  return sum
}

/**
 * Returns whether the service has entries before or after all those of two walks. The span of an audit trail is never
 * cut, so no other request would return them.
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
    // If the service rounds bounds, it returns the first and last entries again.
    if (shown.some((at) => at < begun || at > ended)) return true
  }
  return false
}
