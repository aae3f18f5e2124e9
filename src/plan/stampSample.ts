/**
 * What the rows of an overfull response tell of where to cut: they carry stamps, so they are a sample of where rows
 * stand in time. Only a hint, never a proof: no sort order is assumed, but where the rows look sorted the cut after the
 * last stamps that surely fit is nearly exact.
 */
import type { Instant } from '../instant.ts'
import type { Span } from './spans.ts'

/** A row's stamps, best first; undefined where it has none. */
export type RowStamps = readonly (Instant | undefined)[]

export interface SampleHint {
  /** Where to end the next slices; none: most of a page stands at `heapAt`, and no cut parts it. */
  readonly cuts: readonly Instant[]
  readonly heapAt: Instant | undefined
  /** The earliest stamp of the sample: before it nothing seems to stand. */
  readonly from: Instant
  /**
   * Rows a µs where the sample stands, in a service that sends the latest rows first; nothing is known of the others.
   */
  readonly rate: number | undefined
}

export interface SampleQuestion {
  readonly since: Instant
  readonly until: Instant
  /** Rows of a full page. */
  readonly pageRows: number
  /** Rows that a slice is planned for. */
  readonly planned: number
  /** Whether slices told a density that this response surprised only by a little. */
  readonly isKnown: boolean
  /** How often in a row slices from here were overfull, this one included. */
  readonly failures: number
}

const SORTED_SHARE = 0.97
const HEAP_SHARE = 0.95
/**
 * Share of the planned rows to go for while more rows may stand before the cut than were seen, by failures in a row.
 */
const KNOWN_SHARES = [0.85, 0.45, 0.15, 0.05] as const
const SORTED_SHARES = [0.65, 0.4, 0.2, 0.1] as const
/** Of everything there is a page shows the shape but not the size: a thin slice first, then the density is known. */
const UNSORTED_SHARE = 0.04

/** Undefined where too few rows carry a stamp inside the span. */
export function hintOf(rows: readonly RowStamps[], question: SampleQuestion): SampleHint | undefined {
  const entries = rows.flatMap((stamps) => entryOf(stamps, question) ?? [])
  if (entries.length < rows.length / 2 || entries.length < 2) return undefined
  const order = orderOf(rows)
  const sorted = entries.toSorted((a, b) => a - b)
  const heapAt = heapOf(sorted)
  const from = sorted[0] as Instant
  if (heapAt !== undefined) return { cuts: [], heapAt, from, rate: undefined }
  if (order === 'descending') {
    const length = (sorted.at(-1) as Instant) - from
    return { cuts: [], heapAt: undefined, from, rate: length > 0 ? sorted.length / length : undefined }
  }
  const first = cutAfter(sorted, rowsFor(order, question))
  // More than one page may have been read: where rows are sorted the second slice is known as well as the first.
  const second =
    order === 'exact'
      ? cutAfter(
          sorted.filter((at) => at > first),
          question.pageRows - 2,
        )
      : undefined
  const cuts = second !== undefined && sorted.length > 1.5 * question.pageRows ? [first, second] : [first]
  return { cuts, heapAt: undefined, from, rate: undefined }
}

/** The first moment at which the row is in the span, if its end comes late enough: the earliest stamp inside. */
function entryOf(stamps: RowStamps, { since, until }: SampleQuestion): Instant | undefined {
  let first: Instant | undefined
  for (const at of stamps)
    if (at !== undefined && at >= since && at <= until && !(at >= (first ?? Infinity))) first = at
  return first
}

type Order = 'exact' | 'ascending' | 'descending' | 'none'

/** How the rows seem to be sorted by one of their stamps; `exact` when the others say the same. */
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
  let rising = 0
  for (let n = 1; n < values.length; n += 1) if ((values[n] as number) >= (values[n - 1] as number)) rising += 1
  return rising / Math.max(1, values.length - 1)
}

/** The one instant at which nearly all rows of the page stand. */
function heapOf(sorted: readonly Instant[]): Instant | undefined {
  const middle = sorted[Math.floor(sorted.length / 2)] as Instant
  const there = sorted.filter((at) => at === middle).length
  return there >= sorted.length * HEAP_SHARE ? middle : undefined
}

/** Rows of the sample that the next slice should hold. */
function rowsFor(order: Order, { pageRows, planned, isKnown, failures }: SampleQuestion): number {
  const step = <T>(shares: readonly T[]): T => shares[Math.min(failures, shares.length) - 1] as T
  if (order === 'exact' && failures === 1) return pageRows - 2
  if (isKnown) return planned * step(KNOWN_SHARES)
  return planned * (order === 'none' ? UNSORTED_SHARE : step(SORTED_SHARES))
}

/** As late as at most `wanted` rows have entered, but not before the first has. */
function cutAfter(sorted: readonly Instant[], wanted: number): Instant {
  let count = Math.max(1, Math.min(sorted.length - 1, Math.floor(wanted)))
  while (count > 0 && sorted[count] === sorted[count - 1]) count -= 1
  if (count > 0) return ((sorted[count] as Instant) - 1) as Instant
  const first = sorted[0] ?? (0 as Instant)
  const behind = sorted.find((at) => at > first)
  return behind === undefined ? first : ((behind - 1) as Instant)
}

/**
 * When a later page begins, where all of its rows come after those of the first page by one of their stamps; undefined
 * where they don't, or where that lies at an edge of the span. Before it stand about the rows of the pages before that
 * page, and more of those that carry another, earlier stamp.
 */
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

/**
 * Where rows of the span would stand that are paged to behind the last page: later than those of the first and the last
 * page, or earlier where the last page's are earlier than the first one's. Where rows carry two stamps the second guess
 * is narrower.
 */
export function edgesOf(first: readonly RowStamps[], last: readonly RowStamps[], span: Span): Span[] {
  const [begun, ended] = [boundsOf(first, span), boundsOf(last, span)]
  if (begun === undefined || ended === undefined) return []
  const runsBack = ended.entered.latest < begun.entered.earliest || ended.gone.latest < begun.gone.earliest
  const edges = runsBack
    ? [ended.gone.earliest, ended.entered.earliest].map((until) => ({ since: span.since, until }))
    : [latestOf(begun.entered, ended.entered), latestOf(begun.gone, ended.gone)].map((since) => ({ ...span, since }))
  return edges.filter((edge, n) => n === 0 || edge.since !== edges[0]?.since || edge.until !== edges[0]?.until)
}

interface Range {
  readonly earliest: Instant
  readonly latest: Instant
}

const latestOf = (a: Range, b: Range): Instant => Math.max(a.latest, b.latest) as Instant

/** When the rows entered the span and left it, by the first and the last of their stamps inside. */
function boundsOf(rows: readonly RowStamps[], { since, until }: Span): { entered: Range; gone: Range } | undefined {
  const inside = rows
    .map((stamps) => stamps.filter((at) => at !== undefined && at <= until && (since === undefined || at >= since)))
    .flatMap((stamps) => rangeOf(stamps as Instant[]) ?? [])
  const entered = rangeOf(inside.map(({ earliest }) => earliest))
  const gone = rangeOf(inside.map(({ latest }) => latest))
  return entered && gone && { entered, gone }
}

function rangeOf(instants: readonly Instant[]): Range | undefined {
  const sorted = instants.toSorted((a, b) => a - b)
  const [earliest, latest] = [sorted[0], sorted.at(-1)]
  return earliest === undefined || latest === undefined ? undefined : { earliest, latest }
}
