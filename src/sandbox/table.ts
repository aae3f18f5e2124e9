/** The rows of one report, as JSON in memory. */
import { attempt } from '../errors.ts'
import { convert, Dice, draw, hashOf, type WorldSettings } from './dice.ts'
import { type Currency, decimalText, parseExact } from './money.ts'
import type { CollectionKind, Definition, RowSource } from './reports/definition.ts'
import { currencyOf } from './reports/contents.ts'
import { DEFINITIONS, type WorldReport } from './reports/index.ts'
import { NEVER, TICKS_PER_DAY, TICKS_PER_SECOND, ticksOfMillis, type Ticks } from './ticks.ts'

/** JSON text by field name. An empty text means that the field is absent. */
export type RawFields = Readonly<Record<string, string>>

/** The items of a collection, one JSON text each. After `putRow`, a single JSON text for the whole collection. */
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

/** The latest time of a generated change. It is constant, so that a seed creates the same rows on any day. */
export const HISTORY_END: Ticks = ticksOfMillis(Date.UTC(2026, 0, 1))
const SPAN_TICKS = 1_095 * TICKS_PER_DAY

const EDITED_PERCENT = 70
const DELETED_PERCENT = 4
const BULK_PERCENT = 3
const WHOLE_SECOND_PERCENT = 10
const CHILD_EDIT_PERCENT = 40

type RowHistory = ReturnType<typeof historyOf>

const COUNTS = [0, 1, 1, 2, 2, 3, 4, 5]
const ITEM_NUMBERS_RESERVED_PER_ROW = 16
const FIRST_NEW_ITEM = 9_000_002

export class Table {
  readonly report: WorldReport
  readonly definition: Definition
  readonly settings: WorldSettings
  /** The rows that the last request selected, and its filters. Undefined after a change. */
  selection: { readonly filters: string; readonly rows: readonly Row[] } | undefined
  readonly #rows: Row[] = []
  #order: Row[] = []
  #isSorted = true
  #nextItem = FIRST_NEW_ITEM

  constructor(report: WorldReport, settings: WorldSettings) {
    this.report = report
    this.definition = DEFINITIONS[report]
    this.settings = settings
    const rows = Math.max(1, Math.floor(settings.rows * this.definition.rowsPerEvent))
    for (let number = 0; number < rows; number += 1) this.#add(historyOf(number, rows, this))
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
    this.selection = undefined
  }

  #add(history: Stamps | RowHistory): Row {
    const row = new Row(this, this.#rows.length, history)
    this.#rows.push(row)
    this.#order.push(row)
    this.unsort()
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
  /** The row's changes before the sandbox started. Undefined for a row that was inserted later. */
  readonly history: RowHistory | undefined
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

  /** The JSON text of each generated field, without edits. */
  get generated(): ReadonlyMap<string, string> {
    this.#generated ??= new Map(
      Object.entries(this.table.definition.fields(this)).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, JSON.stringify(value)] as const],
      ),
    )
    return this.#generated
  }

  /** Sets fields. Discards generated values and the order of rows: also call it after setting a time or `deleted`. */
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
      this.#itemText(kind, this.number * ITEM_NUMBERS_RESERVED_PER_ROW + index + 1),
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

/** Compares instead of subtracting: the difference of two unedited rows, −∞ − −∞, is NaN. */
const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1)

/** Generates the times at which a row changed before the sandbox started. */
function historyOf(number: number, rows: number, { report, definition, settings }: Table) {
  const { keepsDeleted = false } = definition
  const { seed, historyEnd: end } = settings
  const own = (seed ^ hashOf(report) ^ 0x5bd1e995) | 0
  const chance = (percent: number, purpose: number) => draw(own, number, purpose) % 100 < percent
  const share = (purpose: number) => draw(own, number, purpose) / 2 ** 32
  const between = (from: Ticks, purpose: number) => from + Math.floor((end - from) * share(purpose))
  const rounded = (at: Ticks) =>
    chance(WHOLE_SECOND_PERCENT, 9) ? Math.floor(at / TICKS_PER_SECOND) * TICKS_PER_SECOND : at
  const modifiedAt = (): Ticks => {
    if (!chance(EDITED_PERCENT, 2)) return keepsDeleted ? created : NEVER
    // After a bulk import, many rows have the same modification time.
    const bulkAt = end - 30 * TICKS_PER_DAY
    return chance(BULK_PERCENT, 3) && created < bulkAt ? bulkAt : Math.max(created, rounded(between(created, 4)))
  }
  const created = rounded(end - SPAN_TICKS + Math.floor(((number + share(1)) / rows) * SPAN_TICKS))
  const modified = modifiedAt()
  const edits = modified > created ? draw(own, number, 8) % 4 : 0
  return {
    created,
    modified,
    /** The time when the row or, for events, one of its children last changed (spec §2). */
    aggregate: report === 'events' && chance(CHILD_EDIT_PERCENT, 5) ? between(modified, 6) : modified,
    deleted: keepsDeleted && chance(DELETED_PERCENT, 7),
    earlierEdits: Array.from(
      { length: edits },
      (_, index) => created + Math.floor(((modified - created) * (index + 1)) / (edits + 1)),
    ),
  }
}
