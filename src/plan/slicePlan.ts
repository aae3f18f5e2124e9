/** Plans how long the next slice is, from the slices before it. A bad plan only causes more requests. */
import type { Instant } from '../instant.ts'
import { type Density, densityAfter, plannedRows, rateOf, UNKNOWN_DENSITY } from './density.ts'
import type { CrowdedInstant, CutPlan } from './slice.ts'
import { type BoundedSpan, shorterLength, type Span } from './spans.ts'
import { type CutHint, cutHintOf } from './stampSample.ts'

/** A slice with less than this share of a full page has too few rows to plan the next slice from. */
const SPARSE_SHARE = 0.1
/** After each sparse slice, the next one is this many times longer, if totals show that later rows exist. */
const SPARSE_GROWTH = 3
/** After this many sparse slices, the next slice reaches to the end of the last overfull slice. */
const LEAP_AFTER = 2
/** After this many consecutive slices with too many rows, a slice as short as `goodLength` counts as crowded. */
const CROWDED_AFTER = 3
/** After more than this many overfull slices in a row, the next slice is at most `shorterLength` long. */
const HINTED_OVERFULL_MAX = 3
/** If a slice that was made shorter has more than this share of its former rows, most are probably at one instant. */
const STUCK_SHARE = 0.8
const STUCK_SHRINK = 8
const STUCK_MAX = 2

/** What the slices so far show about the next one. A slice is sparse (too few rows), good, or overfull (too many). */
export interface SliceHistory {
  readonly pageRows: number
  /** Old slices have several pages each, after rows have moved between pages. */
  readonly pagesEach: number
  readonly density: Density
  readonly sparseInARow: number
  /** Length (µs) of the last good slice. */
  readonly goodLength: number
  /** Counts overfull slices since the last good slice. */
  readonly overfullInARow: number
  readonly overfullTotal?: number | undefined
  /** Counts consecutive overfull slices that had most rows of the longer slice before. */
  readonly stuckInARow: number
  /** Where the last overfull slice ended. Undefined after its rows are read. */
  readonly overfullEnd?: Instant | undefined
  /** The earliest row that the last overfull slice showed. The next slice begins with this row. */
  readonly earliestStamp?: Instant | undefined
}

const NO_OVERFULL = { overfullInARow: 0, overfullTotal: undefined, stuckInARow: 0 }

export function firstHistory(pageRows: number): SliceHistory {
  return { pageRows, pagesEach: 1, density: UNKNOWN_DENSITY, sparseInARow: 0, goodLength: 0, ...NO_OVERFULL }
}

export const fullRows = ({ pageRows, pagesEach }: SliceHistory): number => pageRows * pagesEach

const plannedSliceRows = ({ pageRows, pagesEach, density }: SliceHistory): number =>
  plannedRows(pageRows, density.dispersion, pagesEach)

/** Returns where the span has a crowded instant. For such a span, two walks are cheaper than a cut. */
export function crowdedInstantIn({ since, until }: Span, history: SliceHistory): CrowdedInstant | undefined {
  if (history.stuckInARow >= STUCK_MAX) return 'somewhere'
  if (since === undefined || history.overfullInARow < CROWDED_AFTER) return undefined
  return until - since <= history.goodLength ? 'somewhere' : undefined
}

/** Returns how long (µs) the next slice is, which begins where `span` begins. `rows`: the probable rows of `span`. */
export function nextLength(history: SliceHistory, { since, until }: BoundedSpan, rows: number | undefined): number {
  const { density, sparseInARow, overfullEnd, pagesEach } = history
  const length = until - since
  const rate = rateOf(density)
  const planned = plannedSliceRows(history)
  if (rows === undefined) return lengthAfterSparse(since, history) ?? (rate === undefined ? length : planned / rate)
  if (rows < fullRows(history)) return length
  // Slices of several pages are planned full: the last one takes only the pages that are left.
  const each = pagesEach > 1 ? planned : rows / Math.ceil(rows / planned)
  if (rate !== undefined && sparseInARow === 0) return each / rate
  const grown = (each / rows) * length * SPARSE_GROWTH ** sparseInARow
  return Math.min(grown, ((overfullEnd ?? until) - since) / 2)
}

/** Returns half of the way to `overfullEnd`, because most rows must be near that end; once, the whole way. */
function lengthAfterSparse(since: Instant, { sparseInARow, overfullEnd }: SliceHistory): number | undefined {
  if (sparseInARow === 0 || overfullEnd === undefined) return undefined
  return sparseInARow === LEAP_AFTER ? overfullEnd - since : Math.floor((overfullEnd - since) / 2)
}

/** Returns the history after a slice was proven complete. */
export function afterProven(history: SliceHistory, { since, until }: Span, rows: number): SliceHistory {
  if (since === undefined) return history
  const { pageRows, pagesEach, density, earliestStamp, overfullEnd, goodLength } = history
  const length = until - Math.max(since, Math.min(earliestStamp ?? since, until - 1))
  const showsDensity = rows <= pageRows || pagesEach > 1
  const next = {
    ...history,
    density: showsDensity ? densityAfter(density, length, rows) : density,
    overfullEnd: overfullEnd !== undefined && overfullEnd > until ? overfullEnd : undefined,
    earliestStamp: undefined,
  }
  if (rows < fullRows(history) * SPARSE_SHARE) return { ...next, sparseInARow: history.sparseInARow + 1 }
  return { ...next, ...NO_OVERFULL, sparseInARow: 0, goodLength: showsDensity ? length : goodLength }
}

type OverfullSlice = Pick<CutPlan, 'total' | 'stamps'> & { readonly span: BoundedSpan }

/** Returns the history after a slice with too many rows, and the ends of the next slices, or a crowded instant. */
export function afterOverfull(before: SliceHistory, slice: OverfullSlice) {
  const { since, until } = slice.span
  const history = { ...before, overfullInARow: before.overfullInARow + 1, overfullEnd: until }
  const hint = hintOf(history, slice)
  if (hint?.crowdedAt !== undefined) return { history, ends: [], crowdedAt: hint.crowdedAt }
  const isStuck = slice.total !== undefined && slice.total > (before.overfullTotal ?? Infinity) * STUCK_SHARE
  const next = {
    ...history,
    overfullTotal: slice.total,
    stuckInARow: isStuck ? before.stuckInARow + 1 : 0,
    earliestStamp: hint?.earliestStamp,
  }
  const end = (since + lengthAfterOverfull(next, slice, hint)) as Instant
  const laterEnds = hint?.cuts.slice(1).filter((at) => at > end && at < until) ?? []
  return { history: { ...next, density: densityWith(history, slice) }, ends: [end, ...laterEnds] }
}

function hintOf({ pageRows, density, overfullInARow }: SliceHistory, { span, stamps }: OverfullSlice) {
  const rows = (rateOf(density) ?? 0) * lengthOf(span)
  const rowsPlanned = plannedRows(pageRows, density.dispersion)
  const isDensityKnown = rows > pageRows / 3
  return stamps && cutHintOf(stamps, { ...span, pageRows, rowsPlanned, isDensityKnown, overfullInARow })
}

function lengthAfterOverfull(history: SliceHistory, slice: OverfullSlice, hint: CutHint | undefined): number {
  const { stuckInARow, overfullInARow } = history
  const length = lengthOf(slice.span)
  const shrunk = shorterLength(length, overfullInARow)
  const wanted = hintedLength(history, slice, hint) ?? shrunk
  const isHintWrong = slice.total === undefined && overfullInARow > HINTED_OVERFULL_MAX
  const most = stuckInARow > 0 ? length / STUCK_SHRINK : isHintWrong ? shrunk : length - 1
  return Math.max(1, Math.floor(Math.min(wanted, most)))
}

function hintedLength(history: SliceHistory, { span, total }: OverfullSlice, hint: CutHint | undefined) {
  const planned = plannedSliceRows(history)
  if (total !== undefined) return (lengthOf(span) * planned) / total
  const end = hint?.cuts[0]
  if (end !== undefined) return end - span.since
  return hint?.rate === undefined ? undefined : planned / hint.rate
}

/** Returns the density after an overfull slice. Without a total, the slice has at least a page of rows. */
function densityWith({ density, pageRows }: SliceHistory, { span, total }: OverfullSlice): Density {
  const length = lengthOf(span)
  const rate = rateOf(density)
  const rows = total ?? (rate === undefined ? undefined : Math.max(pageRows, rate * length))
  return rows === undefined ? density : densityAfter(density, length, rows)
}

const lengthOf = ({ since, until }: BoundedSpan): number => until - since
