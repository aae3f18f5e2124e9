/** The rows of one report, in memory and as JSON. The first read after a change sorts all rows. */
import { attempt } from '../errors.ts'
import { Dice, draw, hashOf, type WorldSettings } from './dice.ts'
import { historyOf, type RowHistory } from './history.ts'
import { type Currency, decimalText, parseExact } from './money.ts'
import type { RateTable } from './rates.ts'
import type { CollectionKind, Definition, RowSource } from './reports/definition.ts'
import { currencyOf } from './reports/contents.ts'
import { DEFINITIONS, type WorldReport } from './reports/index.ts'
import type { Ticks } from './ticks.ts'

/** Maps field names to JSON text. An empty text means that the row does not have the field. */
export type RawFields = Readonly<Record<string, string>>

/** The JSON text of each item, or one text for the whole collection, which may be malformed. */
type Content = readonly string[] | string

export interface Row extends RowSource {
  readonly number: number
  modified: Ticks
  aggregate: Ticks
  deleted: boolean
  nano: bigint
  readonly changed: Record<string, string>
  readonly collections: Map<string, Content>
  /** The generated fields as JSON text. Undefined after a change, so that the next read generates the fields again. */
  generated: ReadonlyMap<string, string> | undefined
}

export interface CollectionRules {
  readonly items: number | undefined
  readonly filled: boolean
}

export interface RowFormat {
  readonly flags: ReadonlySet<string>
  readonly currency: Currency
  readonly damage?: RawFields
}

export interface TableOptions {
  readonly worldSettings: WorldSettings
  readonly rules: CollectionRules
  readonly rates: RateTable
}

const COUNTS = [0, 1, 1, 2, 2, 3, 4, 5]
/** Each row reserves this many item numbers per collection. The number of an item is its `id`. */
const ITEM_NUMBERS_PER_ROW = 16
const FIRST_NEW_ITEM = 9_000_002

export class Table {
  readonly report: WorldReport
  readonly definition: Definition
  readonly histories: readonly RowHistory[]
  readonly #options: TableOptions
  readonly #rows: Row[] = []
  #order: Row[] = []
  #isSorted = true
  #nextItem = FIRST_NEW_ITEM

  constructor(report: WorldReport, options: TableOptions) {
    const { seed, events, historyEnd: end } = options.worldSettings
    this.report = report
    this.definition = DEFINITIONS[report]
    this.#options = options
    const { keepsDeleted = false, rowsPerEvent } = this.definition
    const rows = Math.max(1, Math.floor(events * rowsPerEvent))
    this.histories = Array.from({ length: rows }, (_, number) =>
      historyOf(number, { seed, report, rows, end, keepsDeleted }),
    )
    for (const { created, modified, aggregate, deleted } of this.histories)
      this.#add({ created, modified, aggregate, deleted })
  }

  get rows(): readonly Row[] {
    if (!this.#isSorted) this.#order.sort((a, b) => compare(a.aggregate, b.aggregate) || a.number - b.number)
    this.#isSorted = true
    return this.definition.keepsDeleted ? this.#order : this.#order.filter(({ deleted }) => !deleted)
  }

  get fields(): readonly string[] {
    return [...this.#generated(this.#rows[0] as Row).keys()]
  }

  find(key: number): Row | undefined {
    return this.#rows[key - this.definition.firstKey]
  }

  insert(at: Ticks): Row {
    return this.#add({ created: at, modified: at, aggregate: at, deleted: false })
  }

  /** Must also be called after a change of the row's times or of `deleted`. */
  change(row: Row, fields: RawFields = {}): void {
    Object.assign(row.changed, fields)
    row.generated = undefined
    this.#isSorted = false
  }

  text(row: Row, { flags, currency, damage = {} }: RowFormat): string {
    const fields = new Map([...this.#generated(row), ...this.#amountFields(row, currency)])
    for (const [field, raw] of [...Object.entries(row.changed), ...Object.entries(damage)]) fields.set(field, raw)
    for (const kind of this.definition.collections) {
      if (flags.has(kind.flag)) fields.set(kind.field, this.#collectionText(row, kind))
    }
    const members = [...fields].flatMap(([field, raw]) => (raw === '' ? [] : [`"${field}":${raw}`]))
    return `{${members.join(',')}}`
  }

  raw(row: Row, field: string): string | undefined {
    return row.changed[field] ?? this.#generated(row).get(field)
  }

  value(row: Row, field: string): unknown {
    return attempt(() => parseExact(this.raw(row, field) ?? 'null'), undefined)
  }

  items(row: Row, field: string): readonly string[] {
    const kind = this.#kind(field)
    const isWithout = kind.onlyIn !== undefined && this.value(row, 'status') !== kind.onlyIn
    const content = isWithout ? [] : (row.collections.get(field) ?? this.#drawnItems(row, kind))
    return typeof content === 'string' ? [] : content
  }

  setItems(row: Row, field: string, content: Content): void {
    row.collections.set(field, content)
  }

  newItem(row: Row, field: string): string {
    const number = this.#nextItem
    this.#nextItem += 1
    return this.#itemText(row, this.#kind(field), number)
  }

  #add(stamps: Pick<Row, 'created' | 'modified' | 'aggregate' | 'deleted'>): Row {
    const number = this.#rows.length
    const dice = new Dice(this.#options.worldSettings, this.report, number)
    const key = this.definition.firstKey + number
    const rest = {
      nano: dice.nano('amount', this.definition.amountEuros, currencyOf({ dice })),
      changed: {},
      collections: new Map<string, Content>(),
      generated: undefined,
    }
    const row: Row = { ...stamps, number, key, dice, ...rest }
    this.#rows.push(row)
    this.#order.push(row)
    this.#isSorted = false
    return row
  }

  #generated(row: Row): ReadonlyMap<string, string> {
    row.generated ??= new Map(
      Object.entries(this.definition.fields(row)).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, JSON.stringify(value)] as const],
      ),
    )
    return row.generated
  }

  #amountFields(row: Row, currency: Currency): [string, string][] {
    const { amount } = this.definition
    if (amount === undefined) return []
    const converted = this.#options.rates.convert(row.nano, currencyOf(row), currency)
    return [
      [amount, decimalText(converted)],
      ['currencyCode', `"${currency}"`],
    ]
  }

  #collectionText(row: Row, kind: CollectionKind): string {
    const content = row.collections.get(kind.field)
    if (typeof content === 'string') return content
    const items = this.items(row, kind.field)
    return kind.holds === 'one' ? (items[0] ?? 'null') : `[${items.join(',')}]`
  }

  #drawnItems(row: Row, kind: CollectionKind): readonly string[] {
    const items = Array.from({ length: this.#count(row, kind) }, (_, index) =>
      this.#itemText(row, kind, row.number * ITEM_NUMBERS_PER_ROW + index + 1),
    )
    row.collections.set(kind.field, items)
    return items
  }

  #itemText(row: Row, kind: CollectionKind, number: number): string {
    const dice = new Dice(this.#options.worldSettings, `${this.report} ${kind.field}`, number)
    const content = { ...kind.content(dice, row), revision: 0 }
    return JSON.stringify(kind.identified ? { id: number, ...content } : content)
  }

  #count(row: Row, { field, holds }: CollectionKind): number {
    const { items, filled } = this.#options.rules
    const most = holds === 'one' ? 1 : Number.POSITIVE_INFINITY
    if (!filled || items !== undefined) return filled ? Math.min(most, items ?? 0) : 0
    const drawn = draw((this.#options.worldSettings.seed ^ hashOf(this.report)) | 0, row.number, hashOf(field) & 0xffff)
    return holds === 'one' ? drawn & 1 : (COUNTS[drawn & 7] ?? 0)
  }

  #kind(field: string): CollectionKind {
    const kinds = this.definition.collections
    return (kinds.find((kind) => kind.field === field) ?? kinds[0]) as CollectionKind
  }
}

/** Compares without subtraction: rows that were never edited have the time −∞, and −∞ minus −∞ is not a number. */
const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)
