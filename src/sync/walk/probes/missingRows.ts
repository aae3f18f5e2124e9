/** Tests whether the service has rows that the walks did not return, although the walks seemed complete. */
import { earliest, type Instant, latest } from '../../../instant.ts'
import type { NarrowerResult } from '../../../plan/slice.ts'
import type { BoundedSpan, Span } from '../../../plan/spans.ts'
import { halvesOf } from '../../../plan/stampSample.ts'
import type { Walk } from '../../../plan/walk.ts'
import type { ScannedPage } from '../../../staging/scanPage.ts'
import type { FetchedPage } from '../pageSource.ts'
import { stampsOf } from '../stampsOf.ts'
import type { ProbedSlice } from './lastPage.ts'
import { keylessOf, questionFor, type SliceSource } from '../walkPages.ts'

const NARROWER_REQUESTS_MAX = 16

/** Tests whether halves of the span return new rows. Halves with as many rows as the whole span are halved again. */
export async function probeNarrower({ source, slice, first }: ProbedSlice, walk: Walk): Promise<NarrowerResult> {
  const { pages } = source
  const read = async (span: Span) => (await pages.read(questionFor(source, span), 1)).page
  const keyless = new Set(keylessOf(first.page))
  const isNew = (id: string | number) => !walk.keys.has(id) && !keyless.has(String(id))
  const wide: { readonly span: Span; readonly page: ScannedPage }[] = [{ span: slice.span, page: first.page }]
  let requests = 0
  for (let part = wide.pop(); part !== undefined; part = wide.pop()) {
    const halves = halvesOf(part.span as BoundedSpan, stampsOf(pages.report, part.page))
    if (halves === undefined) return 'one instant'
    for (const span of halves) {
      if (requests === NARROWER_REQUESTS_MAX) return 'moved'
      requests += 1
      const page = await read(span)
      const others = idsOf(page).filter(isNew)
      if (others.length > 0) return hasGrownBy(others, first.page, await read(slice.span)) ? 'moved' : 'hidden'
      if (page.rowCount >= first.page.rowCount) wide.push({ span, page })
    }
  }
  return 'nothing new'
}

/** If the whole span still lacks rows of a half, they are not new: a limit on the length of responses hides them. */
const hasGrownBy = (ids: readonly (string | number)[], before: ScannedPage, now: ScannedPage): boolean =>
  now.rowCount > before.rowCount && ids.every((id) => idsOf(now).includes(id))

const idsOf = (page: ScannedPage): (string | number)[] => [...page.keys, ...keylessOf(page)]

export async function probePartTotals({ source, slice }: ProbedSlice, parts: readonly Span[], before: number) {
  const totalOf = async (span: Span) =>
    (await source.pages.read(questionFor(source, span), 1)).page.envelope.totalCount ?? 0
  let sum = 0
  for (const part of parts) sum += await totalOf(part)
  const now = sum === before ? before : await totalOf(slice.span)
  // If rows have changed meanwhile, the sum of the parts' totals may be any number between the old and the new total.
  return sum >= Math.min(before, now) && sum <= Math.max(before, now) ? 'add up' : 'differ'
}

/** Returns whether an audit trail has entries before or after those in `seen`. */
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
    // Ignores entries at exactly `begun` or `ended`, because a service that rounds the bounds may return them again.
    if (shown.some((at) => at < begun || at > ended)) return true
  }
  return false
}
