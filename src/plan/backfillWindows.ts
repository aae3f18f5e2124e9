/** Splits a backfill's time range into windows. A bad choice costs extra requests but never loses a row. */
import { DAY_MS, type Instant, MICROS_PER_MS } from '../instant.ts'
import type { BoundedSpan } from './spans.ts'

/** Limits the jobs in the queue and the rows in the warehouse: each window adds one job and one row. */
export const BACKFILL_WINDOWS_MAX = 1_000
/** With this many windows, all workers finish at about the same time. */
const WINDOWS_WANTED = 32
/** The last page of a window is rarely full, so smaller windows cost more requests. */
const PAGES_A_WINDOW_MIN = 4
const DAYS_A_WINDOW = 30

const MICROS_A_DAY = DAY_MS * MICROS_PER_MS

/** `rows` counts the modified rows, as in `[120]`, or the modified and the created rows, as in `[120, 30]`. */
export interface CountedRange extends BoundedSpan {
  readonly rows: readonly number[]
}

export interface WindowRange extends BoundedSpan {
  readonly rows: readonly number[] | undefined
}

export interface WindowSizes {
  readonly pageRows: number
  readonly loadRowsMax: number
}

export const rowsIn = ({ rows }: Pick<CountedRange, 'rows'>): number => rows.reduce((sum, each) => sum + each, 0)

export function rowsAWindow(total: number, { pageRows, loadRowsMax }: WindowSizes): number {
  const least = Math.min(PAGES_A_WINDOW_MIN * pageRows, loadRowsMax)
  const wanted = Math.ceil(total / WINDOWS_WANTED)
  return Math.max(1, Math.min(Math.max(wanted, least), loadRowsMax))
}

/** Returns windows of about `rowsEach` rows. Expects and returns ranges in order of time, without gaps. */
export function windowsByRows(parts: readonly CountedRange[], rowsEach: number): WindowRange[] {
  const merged: CountedRange[] = []
  for (const piece of parts.flatMap((part) => splitPart(part, rowsEach))) {
    const last = merged.at(-1)
    if (last !== undefined && rowsIn(last) + rowsIn(piece) <= rowsEach)
      merged[merged.length - 1] = joinRanges(last, piece)
    else merged.push(piece)
  }
  return merged.length > BACKFILL_WINDOWS_MAX ? windowsByRows(parts, 2 * rowsEach) : merged
}

export function windowsByTime({ since, until }: BoundedSpan): WindowRange[] {
  const wanted = Math.ceil((until - since) / (DAYS_A_WINDOW * MICROS_A_DAY))
  return even({ since, until }, Math.min(WINDOWS_WANTED, wanted)).map((part) => ({ ...part, rows: undefined }))
}

export interface RequestCosts {
  readonly pageRows: number
  readonly answer: 'envelope' | 'array'
  readonly readsTwice: boolean
}

/** With twice as many pages, the search for the last page sends this many more requests. */
const REQUESTS_PER_DOUBLING = 1.5
const SEARCH_REQUESTS_MIN = 3

export function requestsFor(rows: readonly number[] | undefined, { pageRows, answer, readsTwice }: RequestCosts) {
  const ofOne = (count: number) => {
    const pages = Math.max(1, Math.ceil(count / pageRows))
    if (answer === 'envelope' || pages === 1) return pages
    return pages + Math.ceil(REQUESTS_PER_DOUBLING * Math.log2(pages)) + SEARCH_REQUESTS_MIN
  }
  const once = (rows ?? [0]).reduce((sum, each) => sum + ofOne(each), 0)
  return readsTwice ? 2 * once : once
}

function splitPart(part: CountedRange, rowsEach: number): CountedRange[] {
  const pieces = Math.min(BACKFILL_WINDOWS_MAX, Math.ceil(rowsIn(part) / rowsEach))
  const cut = even(part, pieces)
  return cut.map((span) => ({ ...span, rows: part.rows.map((rows) => Math.round(rows / cut.length)) }))
}

function even({ since, until }: BoundedSpan, wanted: number): BoundedSpan[] {
  const length = until - since
  const count = Math.max(1, Math.min(wanted, length))
  const bounds = Array.from({ length: count + 1 }, (_, n) => (since + Math.round((length * n) / count)) as Instant)
  return bounds.slice(1).map((end, n) => ({ since: bounds[n] as Instant, until: end }))
}

const joinRanges = (a: CountedRange, b: CountedRange): CountedRange => ({
  since: a.since,
  until: b.until,
  rows: a.rows.map((rows, n) => rows + (b.rows[n] ?? 0)),
})
