/** Cuts spans into slices and proves that each slice is complete, one at a time, earliest first. */
import { rowsAPage } from '../../plan/pagingProfile.ts'
import { SpanQueue } from '../../plan/spanQueue.ts'
import { type Span, splitAt } from '../../plan/spans.ts'
import type { Instant } from '../../instant.ts'
import { proveSlice, type ProvenRows } from './proveSlice.ts'
import { stampsOf } from './stampsOf.ts'
import type { SliceSource } from './walkPages.ts'

export interface ProvenSlice extends Omit<ProvenRows, 'proof'> {
  readonly span: Span
  /** How the slice was proven. Example of a slice that was merged from others: `single+total`. */
  readonly proof: string
}

/** An old part that is this many times longer than the rest is read separately, because it rarely changes. */
const HISTORY_RATIO = 100

/** Yields each slice once it is proven complete. `rowsExpected`: the rows that an earlier read returned. */
export async function* provenSlices(source: SliceSource, spans: readonly Span[], rowsExpected?: number) {
  const { settings, pages } = source
  const parts = settings.answer === 'array' ? spans.flatMap((span) => cutOffOld(span, settings.youngFrom)) : spans
  const pageRows = rowsAPage(pages.profile, pages.pageSize)
  const queue = new SpanQueue(parts, { pageRows, wholeUntil: settings.youngFrom })
  for (let slice = queue.next(); slice !== undefined; slice = queue.next()) {
    const { span } = slice
    const outcome = await proveSlice(source, { ...slice, rowsExpected: slice.rowsExpected ?? rowsExpected })
    if (outcome.kind === 'proven') {
      queue.proven(span, outcome.rows, outcome.proof === 'single')
      yield { ...outcome, span }
      continue
    }
    const { plan } = outcome
    const isSample = plan.total === undefined && plan.parts === undefined && source.timeFilter === 'window'
    const stamps = isSample ? outcome.pages.flatMap((page) => stampsOf(pages.report, page)) : undefined
    queue.cut(span, { ...plan, stamps })
  }
}

function cutOffOld(span: Span, youngFrom: Instant): readonly Span[] {
  const isHistory = span.since === undefined || youngFrom - span.since > (span.until - youngFrom) * HISTORY_RATIO
  return (isHistory ? splitAt(span, youngFrom) : undefined) ?? [span]
}
