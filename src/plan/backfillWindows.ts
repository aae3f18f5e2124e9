/**
 * Cuts the range of a backfill into windows with about equally many rows, as far as the rows' distribution is known. So
 * several windows can be pulled at once, and each is about one load. Pure. A wrong guess makes windows uneven but loses
 * no row, because each window is proven by itself.
 */
import { DAY_MS, type Instant, MICROS_PER_MS } from '../instant.ts'
import type { Span } from './spans.ts'

/** The maximum number of windows. Each window is a row in the books and a job. */
export const BACKFILL_WINDOWS_MAX = 1_000
/** The number of windows to aim for, if there are enough rows: several pullers then finish at about the same time. */
const WINDOWS_WANTED = 32
/**
 * The minimum size of a window. In a smaller one, half-empty last pages cost more requests than parallel work saves.
 */
const PAGES_A_WINDOW_MIN = 4
/** The maximum length of a window where nothing is known of the rows, unless that gives too many windows. */
const DAYS_A_WINDOW = 30

const MICROS_A_DAY = DAY_MS * MICROS_PER_MS

export interface Range extends Span {
  readonly since: Instant
}

/** A part of the range and its number of rows, by each axis of time (modified, created) in which it is requested. */
export interface Counted extends Range {
  readonly rows: readonly number[]
}

/** A window of the plan. `rows` is undefined where nothing is known of the rows. */
export interface Cut extends Range {
  readonly rows: readonly number[] | undefined
}

export interface WindowSizes {
  /** The number of rows in a full page of this report. */
  readonly pageRows: number
  readonly loadRowsMax: number
}

export const rowsIn = ({ rows }: Pick<Counted, 'rows'>): number => rows.reduce((sum, each) => sum + each, 0)

/** Returns how many rows one window should contain. */
export function rowsAWindow(total: number, { pageRows, loadRowsMax }: WindowSizes): number {
  const least = Math.min(PAGES_A_WINDOW_MIN * pageRows, loadRowsMax)
  const wanted = Math.ceil(total / WINDOWS_WANTED)
  return Math.max(1, Math.min(Math.max(wanted, least), loadRowsMax))
}

/** Returns windows for the parts, earliest first. The parts must touch each other, and so do the windows. */
export function windowsByRows(parts: readonly Counted[], rowsEach: number): Cut[] {
  const merged: Counted[] = []
  for (const piece of parts.flatMap((part) => evenParts(part, rowsEach))) {
    const last = merged.at(-1)
    if (last !== undefined && rowsIn(last) + rowsIn(piece) <= rowsEach) merged[merged.length - 1] = joined(last, piece)
    else merged.push(piece)
  }
  return bounded(merged, joined)
}

/** Returns windows of equal length, for a range of which nothing is known. */
export function windowsByTime({ since, until }: Range): Cut[] {
  const wanted = Math.ceil((until - since) / (DAYS_A_WINDOW * MICROS_A_DAY))
  return even({ since, until }, Math.min(WINDOWS_WANTED, wanted)).map((part) => ({ ...part, rows: undefined }))
}

export interface RequestCosts {
  readonly pageRows: number
  readonly answer: 'envelope' | 'array'
  /** True for budgets: the keys are read a second time without deleted rows. */
  readonly readsTwice: boolean
}

/** Requests for finding the last page of a bare array: this number per doubling of the pages, and a few to confirm. */
const LOOKS_A_DOUBLING = 1.5
const LOOKS_MIN = 3

/** Returns about how many requests a window costs; where its number of rows is unknown, the least possible number. */
export function requestsFor(
  rows: readonly number[] | undefined,
  { pageRows, answer, readsTwice }: RequestCosts,
): number {
  const ofOne = (count: number) => {
    const pages = Math.max(1, Math.ceil(count / pageRows))
    if (answer === 'envelope' || pages === 1) return pages
    return pages + Math.ceil(LOOKS_A_DOUBLING * Math.log2(pages)) + LOOKS_MIN
  }
  const once = (rows ?? [0]).reduce((sum, each) => sum + ofOne(each), 0)
  return readsTwice ? 2 * once : once
}

/** Cuts a part with too many rows into equal ones. A part with few enough is returned unchanged. */
function evenParts(part: Counted, rowsEach: number): Counted[] {
  const pieces = Math.min(BACKFILL_WINDOWS_MAX, Math.ceil(rowsIn(part) / rowsEach))
  const cut = even(part, pieces)
  return cut.map((span) => ({ ...span, rows: part.rows.map((rows) => Math.round(rows / cut.length)) }))
}

/** Returns equal parts: `wanted` of them, or one for each microsecond of a shorter range. */
function even({ since, until }: Range, wanted: number): Range[] {
  const length = until - since
  const count = Math.max(1, Math.min(wanted, length))
  const bounds = Array.from({ length: count + 1 }, (_, n) => (since + Math.round((length * n) / count)) as Instant)
  return bounds.slice(1).map((end, n) => ({ since: bounds[n] as Instant, until: end }))
}

const joined = (a: Counted, b: Counted): Counted => ({
  since: a.since,
  until: b.until,
  rows: a.rows.map((rows, n) => rows + (b.rows[n] ?? 0)),
})

/** Joins neighbouring windows until there are at most `BACKFILL_WINDOWS_MAX`. */
function bounded<T>(windows: readonly T[], join: (a: T, b: T) => T): T[] {
  let few = [...windows]
  while (few.length > BACKFILL_WINDOWS_MAX) {
    few = few.flatMap((window, n) =>
      n % 2 === 1 ? [] : few[n + 1] === undefined ? [window] : [join(window, few[n + 1] as T)],
    )
  }
  return few
}
