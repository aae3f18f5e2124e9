/** Works out which rows to read again after the configuration has changed (contract §3). */
import { DAY_MS, earliest, type Instant, minusMs } from '../instant.ts'
import type { Span } from './spans.ts'

export interface ReadSettings {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
  readonly expand: readonly string[]
  /** The privacy rules as text (`privacyText`). If undefined, all fields are stored unchanged. */
  readonly columns?: string | undefined
}

export const CHANGES = ['start', 'filters', 'expand', 'entities', 'columns', 'reset'] as const

export type Change = (typeof CHANGES)[number]

const AND = ' and '

export const changesText = (because: readonly Change[]): string | undefined =>
  because.length === 0 ? undefined : because.join(AND)

export const parseChanges = (reason: string | null): Change[] =>
  (reason?.split(AND) ?? []).flatMap((word) => CHANGES.find((change) => change === word) ?? [])

export interface Coverage {
  readonly settings: ReadSettings
  /** Rows that were modified up to this time must be read again. */
  readonly refillUntil: Instant | undefined
  readonly because: readonly Change[]
}

export function changesThatNeedReread(earlier: ReadSettings, wanted: ReadSettings): Change[] {
  return [
    ...(wanted.start < earlier.start ? (['start'] as const) : []),
    ...(canonical(earlier.filters) === canonical(wanted.filters) ? [] : (['filters'] as const)),
    ...(wanted.expand.every((flag) => earlier.expand.includes(flag)) ? [] : (['expand'] as const)),
    ...(earlier.columns === wanted.columns ? [] : (['columns'] as const)),
  ]
}

/** Returns the coverage to store. Earlier runs have read up to `readUntil`. */
export function nextCoverage(earlier: Coverage | undefined, wanted: ReadSettings, readUntil?: Instant): Coverage {
  if (earlier === undefined || readUntil === undefined) return { settings: wanted, refillUntil: undefined, because: [] }
  const changes = changesThatNeedReread(earlier.settings, wanted)
  if (changes.length > 0) {
    const before = earlier.refillUntil === undefined ? [] : earlier.because
    return { settings: wanted, refillUntil: readUntil, because: [...new Set([...before, ...changes])] }
  }
  // Records the removal of an `expand` flag, so that rows read without it are read again when the flag returns.
  const start = earlier.refillUntil === undefined ? earliest(earlier.settings.start, wanted.start) : wanted.start
  const isSame = start === earlier.settings.start && wanted.expand.length === earlier.settings.expand.length
  return isSame ? earlier : { ...earlier, settings: { ...wanted, start } }
}

const canonical = (filters: ReadSettings['filters']): string =>
  JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** Lengths (days) of the parts in which a range is read again. One more part covers everything older. */
const PART_DAYS = [7, 30, 90, 365, 730] as const

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
