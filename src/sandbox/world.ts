/** The service's data. The same seed and the same calls produce the same data. */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'
import { usageError } from '../errors.ts'
import { recordChange, trailOf } from './auditTrail.ts'
import { Dice, type WorldOptions, type WorldSettings } from './dice.ts'
import type { Currency } from './money.ts'
import { poolsFor } from './pools.ts'
import { currencyOf } from './reports/contents.ts'
import { perReport, reportOfEntity, WORLD_REPORTS, type WorldReport } from './reports/index.ts'
import { HISTORY_END, type RawFields, type Row, Table, type TrailEntry } from './table.ts'
import { TICKS_PER_MINUTE, TICKS_PER_MS, type Ticks } from './ticks.ts'

export interface WorldChange {
  readonly report: WorldReport
  readonly key: number
  readonly action: string
  readonly field?: string
}

export interface WorldClock {
  readonly now: () => Ticks
  /** Returns the ticks that the fault `stamps-back` subtracts from modification times. */
  readonly back?: () => Ticks
  /** Returns the number of the exchange rate table that the fault `fx` selects. */
  readonly rateTable?: () => number
}

export interface RowRequest {
  readonly currency?: Currency
  readonly flags?: readonly string[]
}

/** The actions of random changes, with cumulative percentages: `editChild` is selected in 62 − 40 = 22 %. */
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

/** The action in the audit entry of a change. The default is `Updated`. */
const AUDITED: Readonly<Record<string, TrailEntry['action']>> = { softDelete: 'Deleted', undelete: 'Restored' }

export class World {
  readonly tables: Readonly<Record<WorldReport, Table>>
  readonly #settings: WorldSettings
  readonly #clock: WorldClock
  readonly #random: RandomGenerator
  readonly #deleted: Row[] = []

  constructor(options: WorldOptions, clock: WorldClock) {
    const historyEnd = Math.min(HISTORY_END, clock.now() - TICKS_PER_MINUTE)
    const { rateTable = () => 0 } = clock
    this.#settings = { ...options, pools: poolsFor(options.seed), historyEnd, rateTable }
    this.tables = perReport((report) => new Table(report, this.#settings))
    this.#clock = clock
    this.#random = xoroshiro128plus(options.seed)
  }

  keys(report: WorldReport): number[] {
    return this.tables[report].rows.map(({ key }) => key)
  }

  liveKeys(report: WorldReport): number[] {
    return this.#live(report).map(({ key }) => key)
  }

  /** Returns the row's current JSON text as in a response. Returns undefined if no response can contain the row. */
  rowText(report: WorldReport, key: number, { currency = 'EUR', flags }: RowRequest = {}): string | undefined {
    const { collections, keepsDeleted } = this.tables[report].definition
    const row = this.tables[report].find(key)
    if (row === undefined || (row.deleted && !keepsDeleted)) return undefined
    return row.text({ flags: new Set(flags ?? collections.map(({ flag }) => flag)), currency })
  }

  row(report: WorldReport, key: number, request: RowRequest = {}): Record<string, unknown> | undefined {
    const text = this.rowText(report, key, request)
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  stampsOf(report: WorldReport, key: number): Pick<Row, 'created' | 'modified' | 'aggregate'> {
    const { created, modified, aggregate } = this.#row(report, key)
    return { created, modified, aggregate }
  }

  auditEntries(entityId: number, recordId: number): readonly TrailEntry[] {
    const report = reportOfEntity(entityId)
    const row = report && this.tables[report].find(recordId)
    return row === undefined ? [] : trailOf(row)
  }

  edit(report: WorldReport, key: number): WorldChange {
    const row = this.#row(report, key)
    const [field, raw] = this.#newValue(row)
    return { ...this.#stamp(row, 'edit', { fields: { [field]: raw } }), field }
  }

  silentEdit(report: WorldReport, key: number): WorldChange {
    const row = this.#row(report, key)
    const { amount, amountEuros } = row.table.definition
    if (amount !== undefined) {
      row.nano = this.#dice().nano('amount', amountEuros, currencyOf(row))
      return { report, key, action: 'silentEdit', field: amount }
    }
    const [field, raw] = this.#newValue(row)
    row.change({ [field]: raw })
    return { report, key, action: 'silentEdit', field }
  }

  /** Sets fields to raw JSON text, which may be invalid. An empty text removes the field. */
  putRow(report: WorldReport, key: number, given: RawFields): WorldChange {
    const row = this.#row(report, key)
    const fields = { ...given }
    for (const { field } of row.table.definition.collections) {
      if (fields[field] !== undefined) row.setItems(field, fields[field])
      delete fields[field]
    }
    return this.#stamp(row, 'putRow', { fields })
  }

  readonly editChild = this.#childChange('editChild', (items) => {
    const at = this.#below(items.length)
    return items.with(at, nextRevision(items[at] as string))
  })

  readonly addChild = this.#childChange('addChild', (items, newItem) => [...items, newItem()])

  readonly removeChild = this.#childChange('removeChild', (items) => items.toSpliced(this.#below(items.length), 1))

  readonly clearChildren = this.#childChange('clearChildren', () => [])

  softDelete(report: WorldReport, key: number): WorldChange {
    const row = this.#row(report, key)
    this.#deleted.push(row)
    row.deleted = true
    return this.#stamp(row, 'softDelete')
  }

  undelete(report: WorldReport, key: number): WorldChange {
    const row = this.#row(report, key)
    row.deleted = false
    return this.#stamp(row, 'undelete')
  }

  insert(report: WorldReport): WorldChange {
    return this.#insertAt(report, this.#nowTicks(), 'insert')
  }

  /** Inserts a row whose modification time is `ageMs` in the past, as if its transaction had committed late. */
  lateCommit(report: WorldReport, ageMs: number): WorldChange {
    return this.#insertAt(report, this.#nowTicks() - Math.trunc(ageMs * TICKS_PER_MS), 'lateCommit')
  }

  stampFuture(report: WorldReport, key: number, ms: number): WorldChange {
    const at = this.#nowTicks() + Math.trunc(ms * TICKS_PER_MS)
    return this.#stamp(this.#row(report, key), 'stampFuture', { at })
  }

  /** Sets both modification times of a row. With `NEVER`, the row looks as if it had never been edited. */
  setStamps(report: WorldReport, key: number, at: Ticks): void {
    const row = this.#row(report, key)
    row.modified = at
    row.aggregate = at
    row.change()
  }

  tick(report: WorldReport = WORLD_REPORTS[this.#below(WORLD_REPORTS.length)] as WorldReport): WorldChange {
    const drawn = this.#below(100)
    const action = TICK_SHARES.find(([, upTo]) => drawn < upTo)?.[0] ?? 'edit'
    if (action === 'insert') return this.insert(report)
    if (action === 'undelete') {
      const at = this.#deleted.findIndex(({ table }) => table.report === report)
      const [row] = at < 0 ? [] : this.#deleted.splice(at, 1)
      return row === undefined ? this.insert(report) : this.undelete(report, row.key)
    }
    const live = this.#live(report)
    const row = live[this.#below(live.length)]
    return row === undefined ? this.insert(report) : this[action](report, row.key)
  }

  #live(report: WorldReport): readonly Row[] {
    return this.tables[report].rows.filter(({ deleted }) => !deleted)
  }

  #insertAt(report: WorldReport, at: Ticks, action: 'insert' | 'lateCommit'): WorldChange {
    const row = this.tables[report].insert(at)
    recordChange(row, { at, action: 'Created', payload: { source: 'live' } })
    return { report, key: row.key, action }
  }

  /** Sets the times and adds an audit entry. A change to an event's children sets only the event's `aggregate` time. */
  #stamp(row: Row, action: string, { fields = {}, at = this.#nowTicks(), collection }: StampOptions = {}): WorldChange {
    const { report } = row.table
    const back = at - (this.#clock.back?.() ?? 0)
    if (report !== 'events') row.modified = back
    else if (collection === undefined) row.modified = at
    row.aggregate = back
    row.change(fields)
    const changes = Object.keys(fields).map((field) => ({ field, to: row.value(field) }))
    const payload = { source: 'live', ...(collection === undefined ? { changes } : { collection }) }
    recordChange(row, { at, action: AUDITED[action] ?? 'Updated', payload })
    return { report, key: row.key, action }
  }

  /** Returns a function that changes the items of a collection: of the one with the name `named` or of a random one. */
  #childChange(action: string, next: (items: readonly string[], newItem: () => string) => readonly string[]) {
    return (report: WorldReport, key: number, named?: string): WorldChange => {
      const row = this.#row(report, key)
      const field = named ?? this.#collectionOf(row, action !== 'addChild')
      const items = row.items(field)
      const newItem = (): string => row.newItem(field)
      const after = items.length === 0 ? [newItem()] : next(items, newItem)
      row.setItems(field, row.table.collection(field).holds === 'one' ? after.slice(-1) : after)
      return { ...this.#stamp(row, action, { collection: field }), field }
    }
  }

  #collectionOf(row: Row, needsItems: boolean): string {
    const fields = row.table.definition.collections.map(({ field }) => field)
    const fitting = needsItems ? fields.filter((field) => row.items(field).length > 0) : fields
    const among = fitting.length > 0 ? fitting : fields
    return among[this.#below(among.length)] as string
  }

  #newValue(row: Row): [string, string] {
    const { edits } = row.table.definition
    const fields = Object.keys(edits)
    const field = fields[this.#below(fields.length)] as string
    const old = row.raw(field)
    let raw = old
    for (let attempt = 0; raw === old && attempt < 20; attempt += 1)
      raw = JSON.stringify(edits[field]?.(this.#dice(), row, this.#nowTicks()) ?? null)
    return [field, raw ?? 'null']
  }

  #row(report: WorldReport, key: number): Row {
    const row = this.tables[report].find(key)
    if (row !== undefined) return row
    const cure = 'Use a key from world.keys(report).'
    throw usageError(`the sandbox has no ${report} row ${key}`, cure)
  }

  #dice(): Dice {
    return new Dice(this.#settings, 'changes', uniformInt(this.#random, 0, 0x7fffffff))
  }

  /** Returns the current time in ticks of 100 ns. The clock has only microseconds, so the last digit is random. */
  #nowTicks(): Ticks {
    return this.#clock.now() + this.#below(10)
  }

  #below(limit: number): number {
    return limit <= 1 ? 0 : uniformInt(this.#random, 0, limit - 1)
  }
}

interface StampOptions {
  readonly fields?: RawFields
  readonly at?: Ticks
  readonly collection?: string
}

const nextRevision = (item: string): string =>
  item.replace(/"revision":(\d+)/, (_, count: string) => `"revision":${Number(count) + 1}`)
