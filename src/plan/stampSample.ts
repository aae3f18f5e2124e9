/** Chooses where to cut a span, from the times of the rows in a response. A bad choice only causes more requests. */
import { type Instant, MICROS_PER_MS, MICROS_PER_SECOND } from '../instant.ts'
import { type BoundedSpan, canSplit, type Span, splitAt } from './spans.ts'

/** A row's modification times, in the order of the report's `newerBy` fields. A missing time is undefined. */
export type RowStamps = readonly (Instant | undefined)[]

export interface CutHint {
  /** The ends of the next slices. Empty if `crowdedAt` or `rate` is set. */
  readonly cuts: readonly Instant[]
  /** A time that most rows share. */
  readonly crowdedAt?: Instant
  readonly earliestStamp: Instant
  /** Rows per microsecond. Set if pages begin with the newest rows. */
  readonly rate?: number | undefined
}

export interface CutHintContext extends BoundedSpan {
  readonly pageRows: number
  readonly rowsPlanned: number
  /** True if the density of earlier slices is known, and predicts more than a third of a page for this slice. */
  readonly isDensityKnown: boolean
  readonly overfullInARow: number
}

const SORTED_SHARE = 0.97
const CROWDED_SHARE = 0.95
/** After 1, 2, 3, and 4 or more overfull slices, the next slice is planned for this share of `rowsPlanned`. */
const KNOWN_SHARES = [0.85, 0.45, 0.15, 0.05] as const
/** Shares of `rowsPlanned` as in KNOWN_SHARES, used if `isDensityKnown` is false and the rows are sorted by time. */
const SORTED_SHARES = [0.65, 0.4, 0.2, 0.1] as const
/** The share for unsorted rows. It is low, because a page shows little of how a span's rows are distributed. */
const UNSORTED_SHARE = 0.04

/** Returns where to cut the span. Undefined if rows have no modification time in the span, nor shortly before it. */
export function cutHintOf(rows: readonly RowStamps[], context: CutHintContext): CutHint | undefined {
  const entries = rows.flatMap((stamps) => rangeOf(timesIn(context, stamps))?.earliest ?? [])
  if (entries.length < rows.length / 2 || entries.length < 2) return hintOfRoundedBound(rows, context)
  const order = orderOf(rows)
  const sorted = entries.toSorted((a, b) => a - b)
  const crowdedAt = crowdedInstantOf(sorted)
  const earliestStamp = sorted[0] as Instant
  if (crowdedAt !== undefined) return { cuts: [], crowdedAt, earliestStamp }
  if (order === 'descending') {
    const length = (sorted.at(-1) as Instant) - earliestStamp
    return { cuts: [], earliestStamp, rate: length > 0 ? sorted.length / length : undefined }
  }
  const first = cutAfter(sorted, rowsFor(order, context))
  // More than 1.5 pages of sorted rows show two cuts: the ends of the next slice and of the one after it.
  if (order !== 'exact' || sorted.length <= 1.5 * context.pageRows) return { cuts: [first], earliestStamp }
  const later = sorted.filter((at) => at > first)
  return { cuts: [first, cutAfter(later, context.pageRows - 2)], earliestStamp }
}

/** Services may cut the bounds of a request to one of these units (µs). */
const UNITS = [MICROS_PER_MS, MICROS_PER_SECOND, 60 * MICROS_PER_SECOND] as const

/** If the service cuts `since` to an earlier time that many rows have, the rest of its millisecond or second is crowded. */
function hintOfRoundedBound(rows: readonly RowStamps[], { since }: CutHintContext): CutHint | undefined {
  const before = rangeOf(rows.flat().filter((at) => at !== undefined && at < since) as Instant[])
  const begin = (unit: number) => Math.floor(since / unit) * unit
  const unit = UNITS.find((each) => before !== undefined && begin(each) <= before.latest)
  if (unit === undefined) return undefined
  return { cuts: [], crowdedAt: (begin(unit) + unit - 1) as Instant, earliestStamp: since }
}

const timesIn = ({ since, until }: Span, stamps: RowStamps): readonly Instant[] =>
  stamps.filter((at): at is Instant => at !== undefined && at <= until && (since === undefined || at >= since))

type Order = 'exact' | 'ascending' | 'descending' | 'none'

/** `exact`: ascending, and each row has the same time in all its fields. */
function orderOf(rows: readonly RowStamps[]): Order {
  const columns = rows[0]?.length ?? 0
  const agreeing = rows.filter((stamps) => stamps.every((at) => at === stamps[0])).length
  for (let column = 0; column < columns; column += 1) {
    const rising = shareRising(rows.map((stamps) => stamps[column] ?? 0))
    if (rising >= SORTED_SHARE) return agreeing === rows.length ? 'exact' : 'ascending'
    if (shareRising(rows.map((stamps) => -Number(stamps[column] ?? 0))) >= SORTED_SHARE) return 'descending'
  }
  return 'none'
}

function shareRising(values: readonly number[]): number {
  const rising = values.filter((value, n) => n > 0 && value >= (values[n - 1] as number)).length
  return rising / Math.max(1, values.length - 1)
}

function crowdedInstantOf(sorted: readonly Instant[]): Instant | undefined {
  const middle = sorted[Math.floor(sorted.length / 2)] as Instant
  const there = sorted.filter((at) => at === middle).length
  return there >= sorted.length * CROWDED_SHARE ? middle : undefined
}

function rowsFor(order: Order, { pageRows, rowsPlanned, isDensityKnown, overfullInARow }: CutHintContext): number {
  const step = <T>(shares: readonly T[]): T => shares[Math.min(overfullInARow, shares.length) - 1] as T
  if (order === 'exact' && overfullInARow === 1) return pageRows - 2
  if (isDensityKnown) return rowsPlanned * step(KNOWN_SHARES)
  return rowsPlanned * (order === 'none' ? UNSORTED_SHARE : step(SORTED_SHARES))
}

/** Returns where to end a slice of about `wanted` rows. Rows with the same time stay together. */
function cutAfter(sorted: readonly Instant[], wanted: number): Instant {
  let count = Math.max(1, Math.min(sorted.length - 1, Math.floor(wanted)))
  while (count > 0 && sorted[count] === sorted[count - 1]) count -= 1
  if (count > 0) return ((sorted[count] as Instant) - 1) as Instant
  const first = sorted[0] ?? (0 as Instant)
  const behind = sorted.find((at) => at > first)
  return behind === undefined ? first : ((behind - 1) as Instant)
}

/** Returns the time at which page `later` begins. Undefined if pages are not sorted by time. */
export function beginningOf(first: readonly RowStamps[], later: readonly RowStamps[], span: Span): Instant | undefined {
  for (const column of first[0]?.keys() ?? []) {
    const begun = rangeOf(first.map((stamps) => stamps[column] ?? NEVER))
    const at = rangeOf(later.map((stamps) => stamps[column] ?? NEVER))?.earliest
    const comesAfter = begun !== undefined && at !== undefined && at > begun.latest && at !== NEVER
    if (comesAfter && at > (span.since ?? Number.NEGATIVE_INFINITY) && at < span.until) return at
  }
  return undefined
}

const NEVER = Number.POSITIVE_INFINITY as Instant

/** Returns the parts of the span after the rows of both pages (before, if newest rows are first), by each time. */
export function spansBeyond(first: readonly RowStamps[], last: readonly RowStamps[], span: Span): Span[] {
  const [begun, ended] = [boundsOf(first, span), boundsOf(last, span)]
  if (begun === undefined || ended === undefined) return []
  const runsBack = ended.earlier.latest < begun.earlier.earliest || ended.later.latest < begun.later.earliest
  const edges = runsBack
    ? [ended.later.earliest, ended.earlier.earliest].map((until) => ({ since: span.since, until }))
    : [latestOf(begun.earlier, ended.earlier), latestOf(begun.later, ended.later)].map((since) => ({ ...span, since }))
  return edges.filter((edge, n) => n === 0 || edge.since !== edges[0]?.since || edge.until !== edges[0]?.until)
}

interface Range {
  readonly earliest: Instant
  readonly latest: Instant
}

const latestOf = (a: Range, b: Range): Instant => Math.max(a.latest, b.latest) as Instant

/** Returns the range of the earlier and of the later times, because each event has two modification times. */
function boundsOf(rows: readonly RowStamps[], span: Span): { earlier: Range; later: Range } | undefined {
  const inside = rows.flatMap((stamps) => rangeOf(timesIn(span, stamps)) ?? [])
  const earlier = rangeOf(inside.map(({ earliest }) => earliest))
  const later = rangeOf(inside.map(({ latest }) => latest))
  return earlier && later && { earlier, later }
}

function rangeOf(instants: readonly Instant[]): Range | undefined {
  const sorted = instants.toSorted((a, b) => a - b)
  const [earliest, latest] = [sorted[0], sorted.at(-1)]
  return earliest === undefined || latest === undefined ? undefined : { earliest, latest }
}

/** Cuts the span at the median time of its rows. Returns undefined for a single instant. */
export function halvesOf(span: BoundedSpan, rows: readonly RowStamps[]): readonly Span[] | undefined {
  const { since, until } = span
  if (!canSplit(span)) return undefined
  const inside = rows.flat().filter((at): at is Instant => at !== undefined && at >= since && at <= until)
  const median = inside.toSorted((a, b) => a - b)[Math.floor(inside.length / 2)] ?? Math.floor((since + until) / 2)
  return splitAt(span, Math.min(Math.max(median, since + 1), until - 1) as Instant)
}
