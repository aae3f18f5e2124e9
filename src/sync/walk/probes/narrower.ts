/**
 * Tests whether a response that seems complete lacks rows. A service that ignores page numbers and shortens every
 * response returns the missing rows for a smaller span.
 */
import type { Instant } from '../../../instant.ts'
import type { NarrowerFinding } from '../../../plan/slice.ts'
import type { Span } from '../../../plan/spans.ts'
import { halvesOf } from '../../../plan/stampSample.ts'
import type { Walk } from '../../../plan/walk.ts'
import type { ScannedPage } from '../../../staging/scanPage.ts'
import { stampsOf } from '../stampsOf.ts'
import { keylessOf, questionFor } from '../walkPages.ts'
import type { ProbedSlice } from './lastPage.ts'

const REQUESTS_MAX = 16

/** Requests both halves of the span. If the response for a half is as long as for the span, cuts the half again. */
export async function probeNarrower({ source, slice, first }: ProbedSlice, walk: Walk): Promise<NarrowerFinding> {
  const { pages } = source
  const read = async (span: Span) => (await pages.read(questionFor(source, span), 1)).page
  const keyless = new Set(keylessOf(first.page))
  const isNew = (id: string | number) => !walk.keys.has(id) && !keyless.has(String(id))
  const wide: { readonly span: Span; readonly page: ScannedPage }[] = [{ span: slice.span, page: first.page }]
  let requests = 0
  for (let each = wide.pop(); each !== undefined; each = wide.pop()) {
    const halves = halvesOf(each.span as Span & { since: Instant }, stampsOf(pages.report, each.page))
    if (halves === undefined) return 'one instant'
    for (const span of halves) {
      if (requests === REQUESTS_MAX) return 'moved'
      requests += 1
      const page = await read(span)
      const others = idsOf(page).filter(isNew)
      if (others.length > 0) {
        const now = await read(slice.span)
        const isThere = others.every((id) => idsOf(now).includes(id))
        return isThere && now.rowCount > first.page.rowCount ? 'moved' : 'hidden'
      }
      if (page.rowCount >= first.page.rowCount) wide.push({ span, page })
    }
  }
  return 'nothing new'
}

/** Returns the keys of the page's rows, and the texts of its rows without a key. */
const idsOf = (page: ScannedPage): (string | number)[] => [...page.keys, ...keylessOf(page)]
