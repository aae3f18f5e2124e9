/**
 * Coverage belongs to what was asked (product contract §3): rows that were read with fewer collections, other filters
 * or a later start don't cover what is asked now. Pure: says whether they do, and in which order to read again.
 */
import { DAY_MS, earliest, type Instant, minusMs } from '../instant.ts'
import type { Span } from './spans.ts'

export interface Asked {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
  readonly expand: readonly string[]
  /** What of the rows is kept in clear, as `privacyText` has it (src/plan/privacy.ts); undefined: everything. */
  readonly columns?: string | undefined
}

/** What of a question can change so that what was read doesn't hold what is asked now. */
export const CHANGES = ['start', 'filters', 'expand', 'entities', 'columns'] as const

export type Change = (typeof CHANGES)[number]

const AND = ' and '

/** As people read it, and as `tidemark.coverage.because` holds it; undefined: nothing is named. */
export const reasonOf = (because: readonly Change[]): string | undefined =>
  because.length === 0 ? undefined : because.join(AND)

/** The changes that such a text names; what another version wrote is passed over. */
export const changesIn = (reason: string | null): Change[] =>
  (reason?.split(AND) ?? []).flatMap((word) => CHANGES.find((change) => change === word) ?? [])

export interface Coverage {
  /** The question whose answer is held, as far as nothing is owed. */
  readonly asked: Asked
  /** What was modified up to here has to be read again; undefined: nothing has. */
  readonly refillUntil: Instant | undefined
  /** Why it has to. */
  readonly because: readonly Change[]
}

/** In what the new question asks for more than was read for `held`; nothing: all of it is held. */
export function outgrown(held: Asked, wanted: Asked): Change[] {
  return [
    ...(wanted.start < held.start ? (['start'] as const) : []),
    ...(canonical(held.filters) === canonical(wanted.filters) ? [] : (['filters'] as const)),
    ...(wanted.expand.every((flag) => held.expand.includes(flag)) ? [] : (['expand'] as const)),
    ...(held.columns === wanted.columns ? [] : (['columns'] as const)),
  ]
}

/** Whether what was read for `held` holds everything that is asked for now. */
export const covers = (held: Asked, wanted: Asked): boolean => outgrown(held, wanted).length === 0

/**
 * What is to be remembered when a run asks `wanted`, and what it owes: the run before asked as `held` says, and read
 * everything up to `readUntil`. The same object when nothing is new.
 */
export function nextCoverage(held: Coverage | undefined, wanted: Asked, readUntil: Instant | undefined): Coverage {
  if (held === undefined || readUntil === undefined) return { asked: wanted, refillUntil: undefined, because: [] }
  const changes = outgrown(held.asked, wanted)
  if (changes.length > 0) {
    const before = held.refillUntil === undefined ? [] : held.because
    return { asked: wanted, refillUntil: readUntil, because: [...new Set([...before, ...changes])] }
  }
  // What is asked for less is missing from the rows that come from now on, so it is not held any longer.
  const start = held.refillUntil === undefined ? earliest(held.asked.start, wanted.start) : wanted.start
  const isSame = start === held.asked.start && wanted.expand.length === held.asked.expand.length
  return isSame ? held : { ...held, asked: { ...wanted, start } }
}

const canonical = (filters: Asked['filters']): string =>
  JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)))

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
