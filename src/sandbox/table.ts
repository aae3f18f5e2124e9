/**
 * One report's rows: stamps, the index on modification time, serialised texts and collections, and how a row is
 * written into a page. It knows nothing of requests; `selection.ts` finds rows, `world.ts` changes them.
 */
import { Collections, type CollectionRules } from './collections.ts'
import { decimalText } from './decimal.ts'
import { History } from './history.ts'
import { OrderedIndex, sortedRows } from './orderedIndex.ts'
import type { PageWriter } from './pageWriter.ts'
import type { Currency, RateTable } from './rates.ts'
import type { WorldReport } from './reports.ts'
import type { Attribute, Makings, RowModel } from './rows/model.ts'
import { RowTexts, type RawFields } from './rowTexts.ts'
import { StampColumns } from './stamps.ts'
import type { Ticks } from './ticks.ts'

const CLOSE = 0x7d

export interface TableOptions {
  readonly model: RowModel
  readonly makings: Makings
  readonly rules: CollectionRules
  readonly historyEnd: Ticks
  readonly rates: RateTable
}

/** How a row is to be written: which collections, in which currency. */
export interface Manner {
  readonly flags: ReadonlySet<string>
  readonly currency: Currency
}

export class Table {
  readonly model: RowModel
  readonly history: History
  readonly stamps: StampColumns
  readonly texts: RowTexts
  readonly collections: Collections
  /** Rows that were there at the start; what happened to them before is in `history`. */
  readonly initialRows: number
  /** Every row that `includeDeleted` may return, by `aggregate`. */
  readonly all: OrderedIndex
  /** The same without soft-deleted rows. */
  readonly live: OrderedIndex
  /** Events have a second stamp that a window may match. */
  readonly byRecord: OrderedIndex | undefined
  readonly #rates: RateTable
  readonly #amounts = new Map<number, bigint>()
  #version = 0

  constructor({ model, makings, rules, historyEnd, rates }: TableOptions) {
    const rows = makings.sizes[model.report]
    this.model = model
    this.initialRows = rows
    this.#rates = rates
    this.history = new History({ seed: makings.seed, report: model.report, rows, end: historyEnd })
    this.stamps = new StampColumns(rows, this.history)
    this.texts = new RowTexts(model, this.stamps)
    this.collections = new Collections(model.report, { seed: makings.seed, pools: makings.pools, rules })
    // Only events carry two stamps; for the others `aggregate` holds what the modification filters look at.
    if (model.report !== 'events')
      for (let row = 0; row < rows; row += 1) this.stamps.setAggregate(row, this.stamps.modified(row))
    const sorted = sortedRows(rows, this.stamps.aggregate)
    this.all = new OrderedIndex(this.stamps.aggregate, sorted)
    this.live = new OrderedIndex(
      this.stamps.aggregate,
      sorted.filter((row) => !this.stamps.isDeleted(row)),
    )
    this.byRecord =
      model.report === 'events'
        ? new OrderedIndex(this.stamps.modified, sortedRows(rows, this.stamps.modified))
        : undefined
  }

  /** Goes up with every change, so that remembered selections can be thrown away. */
  get version(): number {
    return this.#version
  }

  get report(): WorldReport {
    return this.model.report
  }

  rowOf(key: number): number | undefined {
    const row = key - this.model.firstKey
    return Number.isInteger(row) && row >= 0 && row < this.stamps.size ? row : undefined
  }

  keyOf = (row: number): number => this.model.firstKey + row

  insert(at: Ticks): number {
    const row = this.stamps.push(at)
    this.#enter(row)
    this.#version += 1
    return row
  }

  /** Takes the row out of the indexes, lets `change` alter stamps and states, and puts it back where it belongs. */
  change(row: number, change: () => void, fields: RawFields = {}): void {
    this.#leave(row)
    change()
    this.#enter(row)
    this.texts.changed(row, fields)
    this.#version += 1
  }

  /** Serialises every row now, in the order in which pages will ask for them. */
  prepare(): void {
    this.texts.prepare(this.all.slice(0, this.all.size))
  }

  attribute(row: number, name: string): Attribute {
    const raw = this.texts.raw(row)?.[name]
    if (raw === undefined) return this.model.attributes[name]?.(row, this.stamps.of(row))
    try {
      return JSON.parse(raw) as Attribute
    } catch {
      return undefined
    }
  }

  write(out: PageWriter, row: number, manner: Manner): void {
    this.texts.write(out, row)
    this.#writeRest(out, row, manner)
  }

  /** Writes the row with some fields replaced, as the `bad-rows` fault does. */
  writeDamaged(out: PageWriter, row: number, { manner, fields }: { manner: Manner; fields: RawFields }): void {
    out.text(this.texts.text(row, fields))
    this.#writeRest(out, row, manner)
  }

  /** The amount in the row's own currency, in nano-units. */
  amount(row: number): bigint {
    return this.#amounts.get(row) ?? this.model.priced?.(row).nano ?? 0n
  }

  reprice(row: number, nano: bigint): void {
    this.#amounts.set(row, nano)
    this.#version += 1
  }

  #writeRest(out: PageWriter, row: number, manner: Manner): void {
    const priced = this.model.priced?.(row)
    if (priced !== undefined) {
      const raw = this.texts.raw(row)
      const converted = this.#rates.convert(this.amount(row), priced.currency as Currency, manner.currency)
      out.text(`,"${priced.field}":${raw?.[priced.field] ?? decimalText(converted)}`)
      out.text(`,"currencyCode":${raw?.['currencyCode'] ?? `"${manner.currency}"`}`)
    }
    if (manner.flags.size > 0) this.collections.write(out, row, manner.flags)
    out.byte(CLOSE)
  }

  #leave(row: number): void {
    this.all.remove(row)
    this.live.remove(row)
    this.byRecord?.remove(row)
  }

  #enter(row: number): void {
    if (this.stamps.isGone(row)) return
    this.all.add(row)
    if (!this.stamps.isDeleted(row)) this.live.add(row)
    this.byRecord?.add(row)
  }
}
