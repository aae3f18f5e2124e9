/** Cuts spans into slices and proves that each slice is complete, one at a time, earliest first. */
import type { Slice } from '../../plan/slice.ts'
import { rowsAPage } from '../../plan/pagingProfile.ts'
import { SpanQueue } from '../../plan/spanQueue.ts'
import { type Span, splitAt } from '../../plan/spans.ts'
import type { Instant } from '../../instant.ts'
import { proveSlice, type ProvenRows } from './proveSlice.ts'
import { stampsOf } from './stampsOf.ts'
import type { SliceSource } from './walkPages.ts'

export interface ProvenSlice extends Omit<ProvenRows, 'proof'> {
  readonly span: Span
  /** The proof of the slice, or the proofs of all slices that were merged into it. Example: `single+total`. */
  readonly proof: string
}

/** If a span's old part is this many times longer than the rest, it is read separately: its pages can be counted. */
const HISTORY_RATIO = 100

/** Yields each slice once it is proven complete. `rowsExpected` is the number of rows that an earlier read returned. */
export async function* provenSlices(source: SliceSource, spans: readonly Span[], rowsExpected?: number) {
  const { terms, pages } = source
  const parts = terms.answer === 'array' ? spans.flatMap((span) => cutOffOld(span, terms.youngFrom)) : spans
  const pageRows = rowsAPage(pages.profile, pages.pageSize)
  const queue = new SpanQueue(parts, { pageRows, wholeUntil: terms.youngFrom })
  for (let span = queue.next(); span !== undefined; span = queue.next()) {
    const heap = queue.endsInHeap ? 'at its end' : queue.seemsHeap(span) ? 'somewhere' : undefined
    const slice: Slice = { span, heap, mayCount: queue.leavesWhole, rowsExpected: queue.rowsExpected ?? rowsExpected }
    const outcome = await proveSlice(source, slice)
    if (outcome.kind === 'proven') {
      queue.proven(span, outcome.rows, outcome.proof === 'single')
      yield { ...outcome, span }
      continue
    }
    const { overfull } = outcome
    const isSample = overfull.total === undefined && overfull.parts === undefined && source.axis === 'window'
    const stamps = isSample ? outcome.pages.flatMap((page) => stampsOf(pages.report, page)) : undefined
    queue.cut(span, { ...overfull, stamps })
  }
}

function cutOffOld(span: Span, youngFrom: Instant): readonly Span[] {
  const isHistory = span.since === undefined || youngFrom - span.since > (span.until - youngFrom) * HISTORY_RATIO
  return (isHistory ? splitAt(span, youngFrom) : undefined) ?? [span]
}
