/** Computes a row's history before the sandbox's start from the seed alone. So audit entries always agree with rows. */
import { draw, hashOf } from './dice.ts'
import { NEVER, TICKS_PER_DAY, TICKS_PER_SECOND, ticksOfMillis, type Ticks } from './ticks.ts'

/** The latest time in any history. It is fixed, so that equal seeds create equal rows on every day. */
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

export interface RowHistory {
  readonly created: Ticks
  readonly modified: Ticks
  /** For events, the last change of the event or its child records (spec §2). In other reports, `modified` again. */
  readonly aggregate: Ticks
  readonly deleted: boolean
  readonly earlierEdits: readonly Ticks[]
}

export function historyOf(number: number, { seed, report, rows, end, keepsDeleted }: HistoryOptions): RowHistory {
  const own = (seed ^ hashOf(report) ^ 0x5bd1e995) | 0
  const chance = (percent: number, purpose: number) => draw(own, number, purpose) % 100 < percent
  const share = (purpose: number) => draw(own, number, purpose) / 2 ** 32
  const between = (from: Ticks, purpose: number) => from + Math.floor((end - from) * share(purpose))
  const rounded = (at: Ticks) =>
    chance(WHOLE_SECOND_PERCENT, 9) ? Math.floor(at / TICKS_PER_SECOND) * TICKS_PER_SECOND : at
  const modifiedAt = (): Ticks => {
    if (!chance(EDITED_PERCENT, 2)) return keepsDeleted ? created : NEVER
    // After a bulk import, many rows have the same modification time, so no window can separate these rows.
    const bulkAt = end - 30 * TICKS_PER_DAY
    return chance(BULK_PERCENT, 3) && created < bulkAt ? bulkAt : Math.max(created, rounded(between(created, 4)))
  }
  const created = rounded(end - SPAN_TICKS + Math.floor(((number + share(1)) / rows) * SPAN_TICKS))
  const modified = modifiedAt()
  const edits = modified > created ? draw(own, number, 8) % 4 : 0
  return {
    created,
    modified,
    aggregate: report === 'events' && chance(CHILD_EDIT_PERCENT, 5) ? between(modified, 6) : modified,
    deleted: keepsDeleted && chance(DELETED_PERCENT, 7),
    earlierEdits: Array.from(
      { length: edits },
      (_, index) => created + Math.floor(((modified - created) * (index + 1)) / (edits + 1)),
    ),
  }
}
