/** A row's history before the sandbox's start. It depends only on the seed, so that rows and audit entries agree. */
import { draw, hashOf } from './dice.ts'
import { NEVER, TICKS_PER_DAY, TICKS_PER_SECOND, ticksOfMillis, type Ticks } from './ticks.ts'

/** The latest time of all histories. It is fixed, so that equal seeds create equal rows on every day. */
export const HISTORY_END: Ticks = ticksOfMillis(Date.UTC(2026, 0, 1))
const SPAN_TICKS = 1_095 * TICKS_PER_DAY

const EDITED_PERCENT = 70
const DELETED_PERCENT = 4
const BULK_PERCENT = 3
const WHOLE_SECOND_PERCENT = 10
const CHILD_EDIT_PERCENT = 40

export interface HistoryOptions {
  readonly seed: number
  readonly report: string
  readonly rows: number
  readonly end: Ticks
  /** True for events and budgets: their rows always have a modification time, and deleted rows are kept (spec §2). */
  readonly keepsDeleted: boolean
}

export class History {
  readonly #seed: number
  readonly #options: HistoryOptions
  readonly #bulkAt: Ticks

  constructor(options: HistoryOptions) {
    this.#seed = (options.seed ^ hashOf(options.report) ^ 0x5bd1e995) | 0
    this.#options = options
    this.#bulkAt = options.end - 30 * TICKS_PER_DAY
  }

  created(row: number): Ticks {
    const share = (row + this.#fraction(row, 1)) / this.#options.rows
    return this.#rounded(row, this.#options.end - SPAN_TICKS + Math.floor(share * SPAN_TICKS))
  }

  modified(row: number): Ticks {
    const created = this.created(row)
    if (!this.#chance(EDITED_PERCENT, row, 2)) return this.#options.keepsDeleted ? created : NEVER
    // A bulk import: many rows have the same modification time, so no window can separate these rows.
    if (this.#chance(BULK_PERCENT, row, 3) && created < this.#bulkAt) return this.#bulkAt
    return Math.max(created, this.#rounded(row, this.#between(created, row, 4)))
  }

  /** Returns the time of the last change of the row or, for events, of its child records (spec §2). */
  aggregate(row: number): Ticks {
    const modified = this.modified(row)
    return this.#chance(CHILD_EDIT_PERCENT, row, 5) ? this.#between(modified, row, 6) : modified
  }

  deleted(row: number): boolean {
    return this.#options.keepsDeleted && this.#chance(DELETED_PERCENT, row, 7)
  }

  /** Returns the times of edits between creation and last modification, oldest first, for the audit trail. */
  earlierEdits(row: number): readonly Ticks[] {
    const [created, modified] = [this.created(row), this.modified(row)]
    if (!(modified > created)) return []
    const count = draw(this.#seed, row, 8) % 4
    return Array.from({ length: count }, (_, i) => created + Math.floor(((modified - created) * (i + 1)) / (count + 1)))
  }

  #between(from: Ticks, row: number, purpose: number): Ticks {
    return from + Math.floor((this.#options.end - from) * this.#fraction(row, purpose))
  }

  #rounded(row: number, ticks: Ticks): Ticks {
    return this.#chance(WHOLE_SECOND_PERCENT, row, 9) ? Math.floor(ticks / TICKS_PER_SECOND) * TICKS_PER_SECOND : ticks
  }

  #chance(percent: number, row: number, purpose: number): boolean {
    return draw(this.#seed, row, purpose) % 100 < percent
  }

  /** Returns a number in [0, 1) that depends only on seed, row and purpose. */
  #fraction(row: number, purpose: number): number {
    return draw(this.#seed, row, purpose) / 2 ** 32
  }
}
