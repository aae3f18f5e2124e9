/** The rows of one report, in memory and as JSON. The first read after a change sorts all rows. */
import { attempt } from '../errors.ts'
import { convert, Dice, draw, hashOf, type WorldSettings } from './dice.ts'
import { historyOf, type RowHistory } from './history.ts'
import { type Currency, decimalText, parseExact } from './money.ts'
import type { CollectionKind, Definition, RowSource } from './reports/definition.ts'
import { currencyOf } from './reports/contents.ts'
import { DEFINITIONS, type WorldReport } from './reports/index.ts'
import type { Ticks } from './ticks.ts'

/** Maps field names to JSON text. An empty text means that the row does not have the field. */
export type RawFields = Readonly<Record<string, string>>

/** The JSON text of each item, or one text for the whole collection, which may be malformed. */
type Content = readonly string[] | string

export interface TrailEntry {
  readonly at: Ticks
  readonly userId: number
  readonly action: 'Created' | 'Updated' | 'Deleted' | 'Restored'
  readonly payload: object
}

export interface RowFormat {
  readonly flags: ReadonlySet<string>
  readonly currency: Currency
  readonly damage?: RawFields
}

const COUNTS = [0, 1, 1, 2, 2, 3, 4, 5]
/** Each row reserves this many item numbers per collection. The number of an item is its `id`. */
const ITEM_NUMBERS_PER_ROW = 16
const FIRST_NEW_ITEM = 9_000_002

export class Table {
  readonly report: WorldReport
  readonly definition: Definition
  readonly settings: WorldSettings
  readonly #rows: Row[] = []
  #order: Row[] = []
  #isSorted = true
  #nextItem = FIRST_NEW_ITEM

  constructor(report: WorldReport, settings: WorldSettings) {
    this.report = report
    this.definition = DEFINITIONS[report]
    this.settings = settings
    const { keepsDeleted = false, rowsPerEvent } = this.definition
    const rows = Math.max(1, Math.floor(settings.rows * rowsPerEvent))
    for (let number = 0; number < rows; number += 1)
      this.#add(historyOf(number, { seed: settings.seed, report, rows, end: settings.historyEnd, keepsDeleted }))
  }

  get rows(): readonly Row[] {
    if (!this.#isSorted) this.#order.sort((a, b) => compare(a.aggregate, b.aggregate) || a.number - b.number)
    this.#isSorted = true
    return this.definition.keepsDeleted ? this.#order : this.#order.filter(({ deleted }) => !deleted)
  }

  get fields(): readonly string[] {
    return [...(this.#rows[0] as Row).generated.keys()]
  }

  find(key: number): Row | undefined {
    return this.#rows[key - this.definition.firstKey]
  }

  insert(at: Ticks): Row {
    return this.#add({ created: at, modified: at, aggregate: at, deleted: false })
  }

  collection(field: string): CollectionKind {
    const kinds = this.definition.collections
    return (kinds.find((kind) => kind.field === field) ?? kinds[0]) as CollectionKind
  }

  nextItem(): number {
    this.#nextItem += 1
    return this.#nextItem - 1
  }

  unsort(): void {
    this.#isSorted = false
  }

  #add(history: Stamps | RowHistory): Row {
    const row = new Row(this, this.#rows.length, history)
    this.#rows.push(row)
    this.#order.push(row)
    this.#isSorted = false
    return row
  }
}

type Stamps = Pick<RowHistory, 'created' | 'modified' | 'aggregate' | 'deleted'>

export class Row implements RowSource {
  readonly table: Table
  readonly number: number
  readonly key: number
  readonly dice: Dice
  readonly created: Ticks
  modified: Ticks
  aggregate: Ticks
  deleted: boolean
  nano: bigint
  /** Undefined for a row that was inserted after the sandbox's start. */
  readonly history: RowHistory | undefined
  /** Audit entries since the sandbox's start. */
  readonly trail: TrailEntry[] = []
  readonly #changed: Record<string, string> = {}
  readonly #collections = new Map<string, Content>()
  #generated: ReadonlyMap<string, string> | undefined

  constructor(table: Table, number: number, history: Stamps | RowHistory) {
    this.table = table
    this.number = number
    this.key = table.definition.firstKey + number
    this.dice = new Dice(table.settings, table.report, number)
    this.created = history.created
    this.modified = history.modified
    this.aggregate = history.aggregate
    this.deleted = history.deleted
    this.history = 'earlierEdits' in history ? history : undefined
    this.nano = this.dice.nano('amount', table.definition.amountEuros, currencyOf(this))
  }

  /** The generated fields as JSON text. */
  get generated(): ReadonlyMap<string, string> {
    this.#generated ??= new Map(
      Object.entries(this.table.definition.fields(this)).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, JSON.stringify(value)] as const],
      ),
    )
    return this.#generated
  }

  /** Must also be called after a change of the row's times or of `deleted`. */
  change(fields: RawFields = {}): void {
    Object.assign(this.#changed, fields)
    this.#generated = undefined
    this.table.unsort()
  }

  text({ flags, currency, damage = {} }: RowFormat): string {
    const fields = new Map(this.generated)
    const { amount, collections } = this.table.definition
    if (amount !== undefined) {
      fields.set(amount, decimalText(convert(this.nano, [currencyOf(this), currency], this.table.settings)))
      fields.set('currencyCode', `"${currency}"`)
    }
    for (const [field, raw] of Object.entries({ ...this.#changed, ...damage })) fields.set(field, raw)
    for (const kind of collections) if (flags.has(kind.flag)) fields.set(kind.field, this.#collectionText(kind))
    const members = [...fields].flatMap(([field, raw]) => (raw === '' ? [] : [`"${field}":${raw}`]))
    return `{${members.join(',')}}`
  }

  raw(field: string): string | undefined {
    return this.#changed[field] ?? this.generated.get(field)
  }

  value(field: string): unknown {
    return attempt(() => parseExact(this.raw(field) ?? 'null'), undefined)
  }

  items(field: string): readonly string[] {
    const kind = this.table.collection(field)
    if (kind.onlyIn !== undefined && this.value('status') !== kind.onlyIn) return []
    const content = this.#collections.get(field) ?? this.#drawnItems(kind)
    return typeof content === 'string' ? [] : content
  }

  setItems(field: string, content: Content): void {
    this.#collections.set(field, content)
  }

  newItem(field: string): string {
    return this.#itemText(this.table.collection(field), this.table.nextItem())
  }

  #collectionText(kind: CollectionKind): string {
    const content = this.#collections.get(kind.field)
    if (typeof content === 'string') return content
    const items = this.items(kind.field)
    return kind.holds === 'one' ? (items[0] ?? 'null') : `[${items.join(',')}]`
  }

  #drawnItems(kind: CollectionKind): readonly string[] {
    const items = Array.from({ length: this.#count(kind) }, (_, index) =>
      this.#itemText(kind, this.number * ITEM_NUMBERS_PER_ROW + index + 1),
    )
    this.#collections.set(kind.field, items)
    return items
  }

  #itemText(kind: CollectionKind, number: number): string {
    const dice = new Dice(this.table.settings, `${this.table.report} ${kind.field}`, number)
    const content = { ...kind.content(dice, this), revision: 0 }
    return JSON.stringify(kind.identified ? { id: number, ...content } : content)
  }

  #count({ field, holds }: CollectionKind): number {
    const { collections, itemsPerCollection: items, seed } = this.table.settings
    if (!collections) return 0
    if (items !== undefined) return holds === 'one' ? Math.min(1, items) : items
    const drawn = draw((seed ^ hashOf(this.table.report)) | 0, this.number, hashOf(field) & 0xffff)
    return holds === 'one' ? drawn & 1 : (COUNTS[drawn & 7] ?? 0)
  }
}

/** Compares without subtraction: rows that were never edited have the time −∞, and −∞ minus −∞ is not a number. */
const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)
