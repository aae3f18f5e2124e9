/**
 * How a report's rows are made: a pure function from a row number and its stamps to the raw JSON text of each field,
 * and the attributes that filters look at. Nothing here is stored, so a row costs memory only once it is read.
 */
import { draw, hashOf, pick } from '../draw.ts'
import type { Pools } from '../pools.ts'
import type { WorldReport } from '../reports.ts'
import { formatTicks, type PlainTimeStyle, type Ticks, type TimeStyle } from '../ticks.ts'

export interface Stamps {
  readonly created: Ticks
  readonly modified: Ticks
  /** Events only; the same as `modified` elsewhere. */
  readonly aggregate: Ticks
  readonly deleted: boolean
}

/** A value that a filter compares with; undefined matches no filter. */
export type Attribute = string | number | boolean | undefined

export interface RowModel {
  readonly report: WorldReport
  readonly keyField: string
  readonly firstKey: number
  /** In the order in which a row carries them. */
  readonly fields: readonly string[]
  /** Raw JSON text per field; an empty text leaves the field out. */
  raw(row: number, stamps: Stamps): readonly string[]
  readonly attributes: Readonly<Record<string, (row: number, stamps: Stamps) => Attribute>>
  /** Fields that an edit may change, each with new raw text drawn from `drawn`. */
  readonly editable: Readonly<Record<string, (drawn: number) => string>>
  /** What depends on the request's currency: raw text of fields written after the others. */
  priced?(row: number): { nano: bigint; currency: string; field: string }
}

/** How many rows each report has; others refer to events by number. */
export type Sizes = Readonly<Record<WorldReport, number>>

export interface Makings {
  readonly seed: number
  readonly pools: Pools
  readonly sizes: Sizes
  readonly timeStyle: TimeStyle | undefined
}

const REMEMBERED_MAX = 20_000

export const FIRST_KEYS: Readonly<Record<WorldReport, number>> = {
  events: 100_001,
  budgets: 500_001,
  enquiries: 20_001,
  automated_bookings: 700_001,
  office_reservations: 30_001,
  merf_submissions: 900_001,
}

const escapes = new Map<string, string>()

/** JSON text of a string without its quotes; remembered, because rows draw the same few thousand strings. */
export function escaped(text: string): string {
  const known = escapes.get(text)
  if (known !== undefined) return known
  const json = JSON.stringify(text).slice(1, -1)
  if (escapes.size < REMEMBERED_MAX) escapes.set(text, json)
  return json
}

/** JSON text of a string that was drawn from a pool. */
export const quote = (text: string): string => `"${escaped(text)}"`

/** Draws for one report: `of(row, purpose)` is the same number whenever it is asked. */
export class Draws {
  readonly #seed: number

  constructor(seed: number, report: WorldReport) {
    this.#seed = (seed ^ hashOf(report)) | 0
  }

  get seed(): number {
    return this.#seed
  }

  of(row: number, purpose: number): number {
    return draw(this.#seed, row, purpose)
  }

  pick<T>(from: readonly T[], row: number, purpose: number): T {
    return pick(from, this.of(row, purpose))
  }

  chance(percent: number, row: number, purpose: number): boolean {
    return this.of(row, purpose) % 100 < percent
  }
}

const PLAIN: readonly PlainTimeStyle[] = ['zulu', 'offset', 'bare']

/** Writes one date-time field: its style is drawn per field, and per row where the style is `mixed`. */
export function timeWriter(makings: Makings, field: string): (row: number, ticks: Ticks) => string {
  const drawn = draw(makings.seed, hashOf(field) & 0xffff, 3)
  const style = makings.timeStyle ?? pick<TimeStyle>(['zulu', 'offset', 'bare', 'mixed'], drawn)
  if (style !== 'mixed') return (_row, ticks) => `"${formatTicks(ticks, style)}"`
  return (row, ticks) => `"${formatTicks(ticks, pick(PLAIN, draw(makings.seed, row, 4)))}"`
}
