/** Changes rows, their modification times and audit entries. The seed determines all random choices. */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'
import { SyncError } from '../errors.ts'
import { type Action, AuditTrail } from './auditTrail.ts'
import { Dice, type WorldSettings } from './dice.ts'
import { currencyOf } from './reports/contents.ts'
import { WORLD_REPORTS, type WorldReport } from './reports/index.ts'
import type { RawFields, Row, Table } from './table.ts'
import { TICKS_PER_MS, type Ticks } from './ticks.ts'

export interface WorldChange {
  readonly report: WorldReport
  readonly key: number
  readonly action: string
  readonly field?: string
}

interface Target {
  readonly table: Table
  readonly row: Row
}

/** The percentages are cumulative. Example: 22 % of the changes are `editChild` (62 − 40). */
const TICK_SHARES = [
  ['edit', 40],
  ['editChild', 62],
  ['addChild', 71],
  ['removeChild', 76],
  ['clearChildren', 78],
  ['insert', 90],
  ['softDelete', 96],
  ['undelete', 100],
] as const

export interface ChangeClock {
  readonly now: () => Ticks
  /** How far a new modification time is before the present. It is 0 without the fault `stamps-back`. */
  readonly back: () => Ticks
}

export class Changes {
  readonly tables: Readonly<Record<WorldReport, Table>>
  protected readonly audit: AuditTrail
  readonly #worldSettings: WorldSettings
  readonly #clock: ChangeClock
  readonly #random: RandomGenerator
  readonly #deleted: Target[] = []

  constructor(tables: Readonly<Record<WorldReport, Table>>, worldSettings: WorldSettings, clock: ChangeClock) {
    this.tables = tables
    this.audit = new AuditTrail(tables, worldSettings.seed)
    this.#worldSettings = worldSettings
    this.#clock = clock
    this.#random = xoroshiro128plus(worldSettings.seed)
  }

  edit(report: WorldReport, key: number): WorldChange {
    const target = this.#target(report, key)
    const [field, raw] = this.#newValue(target)
    return { ...this.#stamp(target, { action: 'Updated', fields: { [field]: raw } }), field }
  }

  silentEdit(report: WorldReport, key: number): WorldChange {
    const target = this.#target(report, key)
    const { amount } = target.table.definition
    if (amount !== undefined) {
      target.row.nano = this.#dice().nano('amount', target.table.definition.amountEuros, currencyOf(target.row))
      return { report, key, action: 'silentEdit', field: amount }
    }
    const [field, raw] = this.#newValue(target)
    target.table.change(target.row, { [field]: raw })
    return { report, key, action: 'silentEdit', field }
  }

  /** Sets fields and collections to raw JSON text. An empty text removes the field. */
  putRow(report: WorldReport, key: number, fields: RawFields): WorldChange {
    const target = this.#target(report, key)
    const collections = new Set(target.table.definition.collections.map(({ field }) => field))
    const [whole, own] = [true, false].map((wanted) =>
      Object.entries(fields).filter(([field]) => collections.has(field) === wanted),
    ) as [[string, string][], [string, string][]]
    for (const [field, raw] of whole) target.table.setItems(target.row, field, raw)
    return { ...this.#stamp(target, { action: 'Updated', fields: Object.fromEntries(own) }), action: 'putRow' }
  }

  readonly editChild = this.#childChange('editChild', (items) => {
    const at = this.#below(items.length)
    return items.with(at, nextRevision(items[at] as string))
  })

  readonly addChild = this.#childChange('addChild', (items, newItem) => [...items, newItem()])

  readonly removeChild = this.#childChange('removeChild', (items) => items.toSpliced(this.#below(items.length), 1))

  readonly clearChildren = this.#childChange('clearChildren', () => [])

  softDelete(report: WorldReport, key: number): WorldChange {
    const target = this.#target(report, key)
    this.#deleted.push(target)
    return this.#setDeleted(target, true)
  }

  undelete(report: WorldReport, key: number): WorldChange {
    return this.#setDeleted(this.#target(report, key), false)
  }

  insert(report: WorldReport): WorldChange {
    return this.#insertAt(report, this.#nowTicks(), 'insert')
  }

  /** Inserts a row with a modification time in the past, like a transaction that was committed late. */
  lateCommit(report: WorldReport, ageMs: number): WorldChange {
    return this.#insertAt(report, this.#nowTicks() - Math.trunc(ageMs * TICKS_PER_MS), 'lateCommit')
  }

  stampFuture(report: WorldReport, key: number, ms: number): WorldChange {
    const at = this.#nowTicks() + Math.trunc(ms * TICKS_PER_MS)
    return { ...this.#stamp(this.#target(report, key), { action: 'Updated', at }), action: 'stampFuture' }
  }

  /** With `NEVER`, the row looks as if it was never edited. */
  setStamps(report: WorldReport, key: number, at: Ticks): void {
    const { table, row } = this.#target(report, key)
    row.modified = at
    row.aggregate = at
    table.change(row)
  }

  tick(report: WorldReport = WORLD_REPORTS[this.#below(WORLD_REPORTS.length)] as WorldReport): WorldChange {
    const drawn = this.#below(100)
    const action = TICK_SHARES.find(([, upTo]) => drawn < upTo)?.[0] ?? 'edit'
    if (action === 'insert') return this.insert(report)
    if (action === 'undelete') return this.#undeleteOne(report) ?? this.insert(report)
    const live = this.tables[report].rows.filter(({ deleted }) => !deleted)
    const row = live[this.#below(live.length)]
    return row === undefined ? this.insert(report) : this[action](report, row.key)
  }

  #undeleteOne(report: WorldReport): WorldChange | undefined {
    const at = this.#deleted.findIndex(({ table }) => table.report === report)
    const [target] = at < 0 ? [] : this.#deleted.splice(at, 1)
    return target === undefined ? undefined : this.#setDeleted(target, false)
  }

  #insertAt(report: WorldReport, at: Ticks, action: string): WorldChange {
    const row = this.tables[report].insert(at)
    this.audit.record(report, row.number, { at, action: 'Created', payload: { source: 'live' } })
    return { report, key: row.key, action }
  }

  #setDeleted(target: Target, deleted: boolean): WorldChange {
    target.row.deleted = deleted
    const change = this.#stamp(target, { action: deleted ? 'Deleted' : 'Restored' })
    return { ...change, action: deleted ? 'softDelete' : 'undelete' }
  }

  #stamp(
    { table, row }: Target,
    { action, fields = {}, at = this.#nowTicks() }: { action: Action; fields?: RawFields; at?: Ticks },
  ): WorldChange {
    const back = at - this.#clock.back()
    row.modified = table.report === 'events' ? at : back
    row.aggregate = back
    table.change(row, fields)
    const changes = Object.keys(fields).map((field) => ({ field, to: table.value(row, field) }))
    this.audit.record(table.report, row.number, { at, action, payload: { source: 'live', changes } })
    return { report: table.report, key: row.key, action: 'edit' }
  }

  /** Returns a method that changes the collection `named`. If `named` is undefined, it changes a random collection. */
  #childChange(action: string, next: (items: readonly string[], newItem: () => string) => readonly string[]) {
    return (report: WorldReport, key: number, named?: string): WorldChange => {
      const { table, row } = this.#target(report, key)
      const field = named ?? this.#collectionOf({ table, row }, action !== 'addChild')
      const items = table.items(row, field)
      const newItem = (): string => table.newItem(row, field)
      const after = items.length === 0 ? [newItem()] : next(items, newItem)
      const holdsOne = table.definition.collections.find((kind) => kind.field === field)?.holds === 'one'
      table.setItems(row, field, holdsOne ? after.slice(-1) : after)
      const at = this.#nowTicks() - this.#clock.back()
      if (report !== 'events') row.modified = at
      row.aggregate = at
      table.change(row)
      this.audit.record(report, row.number, { at, action: 'Updated', payload: { source: 'live', collection: field } })
      return { report, key, action, field }
    }
  }

  #collectionOf({ table, row }: Target, needsItems: boolean): string {
    const fields = table.definition.collections.map(({ field }) => field)
    const fitting = needsItems ? fields.filter((field) => table.items(row, field).length > 0) : fields
    const among = fitting.length > 0 ? fitting : fields
    return among[this.#below(among.length)] as string
  }

  #newValue({ table, row }: Target): [string, string] {
    const { edits } = table.definition
    const fields = Object.keys(edits)
    const field = fields[this.#below(fields.length)] as string
    const old = table.raw(row, field)
    let raw = old
    for (let attempt = 0; raw === old && attempt < 20; attempt += 1)
      raw = JSON.stringify(edits[field]?.(this.#dice(), { ...row, modified: this.#nowTicks() }) ?? null)
    return [field, raw ?? 'null']
  }

  #target(report: WorldReport, key: number): Target {
    const table = this.tables[report]
    const row = table.find(key)
    if (row === undefined) {
      const cure = 'Use a key from world.keys(report).'
      throw new SyncError('USAGE_INVALID', `the sandbox has no ${report} row ${key}`, { cure })
    }
    return { table, row }
  }

  #dice(): Dice {
    return new Dice(this.#worldSettings, 'changes', uniformInt(this.#random, 0, 0x7fffffff))
  }

  /** The clock has only microseconds, so the seventh fractional digit is random. */
  #nowTicks(): Ticks {
    return this.#clock.now() + this.#below(10)
  }

  #below(limit: number): number {
    return limit <= 1 ? 0 : uniformInt(this.#random, 0, limit - 1)
  }
}

const nextRevision = (item: string): string =>
  item.replace(/"revision":(\d+)/, (_, count: string) => `"revision":${Number(count) + 1}`)
