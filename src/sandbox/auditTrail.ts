/**
 * Who did what to which row (spec §2, audit entry). Entries from before the start are told by `history`; those of live
 * changes are kept. Some entries come twice with the same instant, which nothing in the specification rules out.
 */
import { draw, pick } from './draw.ts'
import { ENTITY_IDS, WORLD_REPORTS, type WorldReport } from './reports.ts'
import type { Table } from './table.ts'
import { formatTicks, type Ticks } from './ticks.ts'

export const ACTIONS = ['Created', 'Updated', 'Deleted', 'Restored'] as const
export type Action = (typeof ACTIONS)[number]

export interface TrailEntry {
  readonly at: Ticks
  readonly userId: number
  readonly action: Action
  /** Raw JSON text of the `payload` object. */
  readonly payload: string
}

const USERS = 60
const DOUBLED_PERCENT = 8

export class AuditTrail {
  readonly #tables: Readonly<Record<WorldReport, Table>>
  readonly #seed: number
  readonly #live = new Map<string, TrailEntry[]>()

  constructor(tables: Readonly<Record<WorldReport, Table>>, seed: number) {
    this.#tables = tables
    this.#seed = seed
  }

  record(
    report: WorldReport,
    row: number,
    { at, action, payload }: { at: Ticks; action: Action; payload: object },
  ): void {
    const key = `${report}:${row}`
    const entries = this.#live.get(key) ?? []
    const entry = { at, action, userId: this.#user(row, entries.length), payload: JSON.stringify(payload) }
    entries.push(entry)
    if (this.#doubles(row, 100 + entries.length)) entries.push(entry)
    this.#live.set(key, entries)
  }

  /** In chronological order; nothing for a record or an entity that does not exist. */
  of(entityId: number, recordId: number): readonly TrailEntry[] {
    const report = WORLD_REPORTS.find((name) => ENTITY_IDS[name] === entityId)
    if (report === undefined) return []
    const row = this.#tables[report].rowOf(recordId)
    if (row === undefined) return []
    const live = this.#live.get(`${report}:${row}`) ?? []
    return [...this.#earlier(this.#tables[report], row), ...live].sort((a, b) => a.at - b.at)
  }

  #earlier(table: Table, row: number): TrailEntry[] {
    if (row >= table.initialRows) return []
    const { history } = table
    const [created, modified, aggregate] = [history.created(row), history.modified(row), history.aggregate(row)]
    const entries = [this.#entry(row, { at: created, action: 'Created', step: 0 })]
    history.earlierEdits(row).forEach((at, i) => entries.push(this.#entry(row, { at, action: 'Updated', step: i + 1 })))
    if (modified > created) {
      const last = this.#entry(row, { at: modified, action: history.deleted(row) ? 'Deleted' : 'Updated', step: 9 })
      entries.push(last)
      if (this.#doubles(row, 9)) entries.push(last)
    }
    if (table.report === 'events' && aggregate > modified)
      entries.push(this.#entry(row, { at: aggregate, action: 'Updated', step: 10 }))
    return entries
  }

  #entry(row: number, { at, action, step }: { at: Ticks; action: Action; step: number }): TrailEntry {
    const field = pick(['name', 'status', 'notes', 'attendees'], draw(this.#seed, row, 50 + step))
    const payload = JSON.stringify({
      source: pick(['web', 'import', 'API – Übernahme'], draw(this.#seed, row, 70 + step)),
      changes: [{ field, from: null, to: `v${step}` }],
    })
    return { at, action, userId: this.#user(row, step), payload }
  }

  #user(row: number, step: number): number {
    return 1 + (draw(this.#seed, row, 90 + step) % USERS)
  }

  #doubles(row: number, step: number): boolean {
    return draw(this.#seed, row, 200 + step) % 100 < DOUBLED_PERCENT
  }
}

/** What `expand.aggregates` adds to an entry; the specification does not show its content. */
export const aggregatesText = (entries: readonly TrailEntry[], entry: TrailEntry): string =>
  JSON.stringify({
    entriesOfRecord: entries.length,
    entriesOfUser: entries.filter((other) => other.userId === entry.userId).length,
    firstAt: formatTicks(entries[0]?.at ?? entry.at),
  })
