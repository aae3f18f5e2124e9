/** Audit entries: who changed which row (spec §2). Some entries exist twice at the same instant, as specified. */
import { draw, pick } from './dice.ts'
import { reportOfEntity, type WorldReport } from './reports/index.ts'
import type { Table } from './table.ts'
import { formatTicks, type Ticks } from './ticks.ts'

export type Action = 'Created' | 'Updated' | 'Deleted' | 'Restored'

export interface TrailEntry {
  readonly at: Ticks
  readonly userId: number
  readonly action: Action
  readonly payload: object
}

const USERS = 60
const DUPLICATED_PERCENT = 8

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
    const entry = { at, action, userId: this.#user(row, entries.length), payload }
    entries.push(entry)
    if (this.#isDuplicated(row, 100 + entries.length)) entries.push(entry)
    this.#live.set(key, entries)
  }

  of(entityId: number, recordId: number): readonly TrailEntry[] {
    const report = reportOfEntity(entityId)
    const row = report === undefined ? undefined : this.#tables[report].find(recordId)?.number
    if (report === undefined || row === undefined) return []
    const live = this.#live.get(`${report}:${row}`) ?? []
    return [...this.#earlier(this.#tables[report], row), ...live].sort((a, b) => a.at - b.at)
  }

  #earlier({ report, histories }: Table, row: number): TrailEntry[] {
    const history = histories[row]
    if (history === undefined) return []
    const { created, modified, aggregate, deleted, earlierEdits } = history
    const entries = [this.#entry(row, { at: created, action: 'Created', step: 0 })]
    earlierEdits.forEach((at, i) => entries.push(this.#entry(row, { at, action: 'Updated', step: i + 1 })))
    if (modified > created) {
      const last = this.#entry(row, { at: modified, action: deleted ? 'Deleted' : 'Updated', step: 9 })
      entries.push(last)
      if (this.#isDuplicated(row, 9)) entries.push(last)
    }
    if (report === 'events' && aggregate > modified)
      entries.push(this.#entry(row, { at: aggregate, action: 'Updated', step: 10 }))
    return entries
  }

  #entry(row: number, { at, action, step }: { at: Ticks; action: Action; step: number }): TrailEntry {
    const field = pick(['name', 'status', 'notes', 'attendees'], draw(this.#seed, row, 50 + step))
    const source = pick(['web', 'import', 'API – Übernahme'], draw(this.#seed, row, 70 + step))
    const payload = action === 'Created' ? { source } : { source, changes: [{ field }] }
    return { at, action, userId: this.#user(row, step), payload }
  }

  #user(row: number, step: number): number {
    return 1 + (draw(this.#seed, row, 90 + step) % USERS)
  }

  #isDuplicated(row: number, step: number): boolean {
    return draw(this.#seed, row, 200 + step) % 100 < DUPLICATED_PERCENT
  }
}

export const aggregatesOf = (entries: readonly TrailEntry[], entry: TrailEntry): object => ({
  entriesOfRecord: entries.length,
  entriesOfUser: entries.filter((other) => other.userId === entry.userId).length,
  firstAt: formatTicks(entries[0]?.at ?? entry.at),
})
