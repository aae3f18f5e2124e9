/** Tests whether the service has as many rows as its total, although two walks have returned fewer. */
import { earliest, type Instant, latest } from '../../../instant.ts'
import type { Span } from '../../../plan/spans.ts'
import type { FetchedPage } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import { questionFor, type SliceSource } from '../walkPages.ts'
import type { ProbedSlice } from './lastPage.ts'

/**
 * Returns whether the totals of `parts` add up to the span's total. If they do, the service returns no page after a
 * certain number. Otherwise, its total is wrong. If the total changes meanwhile, a sum between both totals is enough.
 */
export async function probePartTotals(
  { source, slice }: ProbedSlice,
  parts: readonly Span[],
  before: number,
): Promise<'add up' | 'differ'> {
  const totalOf = async (span: Span) =>
    (await source.pages.read(questionFor(source, span), 1)).page.envelope.totalCount ?? 0
  let sum = 0
  for (const part of parts) sum += await totalOf(part)
  const now = sum === before ? before : await totalOf(slice.span)
  return sum >= Math.min(before, now) && sum <= Math.max(before, now) ? 'add up' : 'differ'
}

/** Returns whether a trail has entries before or after all returned ones. No other request would return those. */
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
    // A service that rounds the bounds may return the first or the last entry again. Such an entry is not new.
    if (shown.some((at) => at < begun || at > ended)) return true
  }
  return false
}
