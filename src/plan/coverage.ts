/**
 * Coverage belongs to what was asked (product contract §3): rows that were read with fewer collections, other filters or
 * a later start don't cover what is asked now. Pure: says whether they do, and in which order to read again.
 */
import { type Instant, minusMs } from '../instant.ts'
import type { Span } from './spans.ts'

export interface Asked {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
  readonly expand: readonly string[]
}

/** Whether what was read for `held` holds everything that is asked for now. */
export function covers(held: Asked, wanted: Asked): boolean {
  const sameFilters = canonical(held.filters) === canonical(wanted.filters)
  return sameFilters && held.start <= wanted.start && wanted.expand.every((flag) => held.expand.includes(flag))
}

const canonical = (filters: Asked['filters']): string =>
  JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const DAY_MS = 86_400_000
/** What is recent is wanted first; each part is remembered when it is done. */
const PART_DAYS = [7, 30, 90, 365, 730] as const

/** [start, until] in parts that share their edges, newest first. */
export function partsNewestFirst(start: Instant, until: Instant): Span[] {
  const parts: Span[] = []
  let end = until
  for (const days of PART_DAYS) {
    const since = minusMs(end, days * DAY_MS)
    if (since <= start) break
    parts.push({ since, until: end })
    end = since
  }
  return end > start || parts.length === 0 ? [...parts, { since: start, until: end }] : parts
}
