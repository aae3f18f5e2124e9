/**
 * How the range of a backfill is cut into windows: from what is known of where its rows stand, into windows of about
 * equally many, so that several can be pulled side by side and each is about one load. Pure; a wrong guess costs
 * balance, never rows, since each window is proven by itself.
 */
import { DAY_MS, type Instant, MICROS_PER_MS } from '../instant.ts'
import type { Span } from './spans.ts'

/** So many windows at most: each is a row in the books and a job. */
export const BACKFILL_WINDOWS_MAX = 1_000
/** So many are wanted where the rows suffice: enough for several pullers to end together. */
const WINDOWS_WANTED = 32
/** A smaller window costs more in requests that end half-empty than it gains. */
const PAGES_A_WINDOW_MIN = 4
/** Where nothing is known of the rows, a window is not longer than this, as long as that gives few enough. */
const DAYS_A_WINDOW = 30

const MICROS_A_DAY = DAY_MS * MICROS_PER_MS

export interface Range extends Span {
  readonly since: Instant
}

/** A part of the range and how many rows stand in it, by each way in which it is asked (modified, created). */
export interface Counted extends Range {
  readonly rows: readonly number[]
}

/** A window; rows undefined: nothing is known. */
export interface Cut extends Range {
  readonly rows: readonly number[] | undefined
}

export interface WindowSizes {
  /** Rows that a response of this report holds. */
  readonly pageRows: number
  readonly loadRowsMax: number
}

export const rowsIn = ({ rows }: Pick<Counted, 'rows'>): number => rows.reduce((sum, each) => sum + each, 0)

/** Rows that one window should hold. */
export function rowsAWindow(total: number, { pageRows, loadRowsMax }: WindowSizes): number {
  const least = Math.min(PAGES_A_WINDOW_MIN * pageRows, loadRowsMax)
  const wanted = Math.ceil(total / WINDOWS_WANTED)
  return Math.max(1, Math.min(Math.max(wanted, least), loadRowsMax))
}

/** Windows that touch each other and cover the parts, earliest first. The parts touch each other, earliest first. */
export function windowsByRows(parts: readonly Counted[], rowsEach: number): Cut[] {
  const merged: Counted[] = []
  for (const piece of parts.flatMap((part) => evenParts(part, rowsEach))) {
    const last = merged.at(-1)
    if (last !== undefined && rowsIn(last) + rowsIn(piece) <= rowsEach) merged[merged.length - 1] = joined(last, piece)
    else merged.push(piece)
  }
  return bounded(merged, joined)
}

/** Windows of equal length, where nothing is known of the rows. */
export function windowsByTime({ since, until }: Range): Cut[] {
  const wanted = Math.ceil((until - since) / (DAYS_A_WINDOW * MICROS_A_DAY))
  return even({ since, until }, Math.min(WINDOWS_WANTED, wanted)).map((part) => ({ ...part, rows: undefined }))
}

export interface RequestCosts {
  readonly pageRows: number
  readonly answer: 'envelope' | 'array'
  /** The keys are read once more without deleted rows (budgets). */
  readonly readsTwice: boolean
}

/**
 * The looks that find the last page of a bare array: so many for each time that the pages double, and a few to be sure.
 */
const LOOKS_A_DOUBLING = 1.5
const LOOKS_MIN = 3

/** About how many requests a window costs, where how many rows stand in it is known; else the least that it can be. */
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

/** Cuts a part that holds too many rows; one that holds few enough stays. */
function evenParts(part: Counted, rowsEach: number): Counted[] {
  const pieces = Math.min(BACKFILL_WINDOWS_MAX, Math.ceil(rowsIn(part) / rowsEach))
  const cut = even(part, pieces)
  return cut.map((span) => ({ ...span, rows: part.rows.map((rows) => Math.round(rows / cut.length)) }))
}

/** Equal parts, as many as are wanted and as its microseconds give. */
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

/** Joins neighbours until there are few enough. */
function bounded<T>(windows: readonly T[], join: (a: T, b: T) => T): T[] {
  let few = [...windows]
  while (few.length > BACKFILL_WINDOWS_MAX) {
    few = few.flatMap((window, n) =>
      n % 2 === 1 ? [] : few[n + 1] === undefined ? [window] : [join(window, few[n + 1] as T)],
    )
  }
  return few
}
