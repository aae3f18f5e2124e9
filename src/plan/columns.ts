/**
 * Which columns undocumented fields get: their types from the kinds of values that all rows were seen to hold, and
 * their names from the fields' own. Pure: the warehouse carries out what is decided here (product contract §4).
 */
import { type DuckType, snakeCase, VERSION_COLUMNS } from '../../schema/tables.ts'
import { has, Kind, type Kinds, NESTED, NUMBERS, only, SCALARS } from './kinds.ts'

/** Discovered columns that one table may get; what comes after stays in `_extra` or `_payload`. */
export const DISCOVERED_COLUMNS_MAX = 500
const NAME_LENGTH_MAX = 120
const VERSION_NAMES = VERSION_COLUMNS.map((column) => column.name)
/** The first would hide the one by which DuckDB knows its rows, the others are a version's own (`history: true`). */
const RESERVED = ['rowid', ...VERSION_NAMES]

export interface DiscoveredColumn {
  readonly field: string
  readonly name: string
  readonly type: DuckType
}

export interface SeenField {
  readonly name: string
  readonly kinds: Kinds
}

export type ColumnChange =
  | { readonly change: 'added'; readonly column: DiscoveredColumn }
  | { readonly change: 'widened'; readonly column: DiscoveredColumn; readonly from: DuckType }
  /** No column was left to give, or none may be added or widened: the values stay in `_extra` or `_payload`. */
  | { readonly change: 'limit' | 'frozen'; readonly field: string }

/** What becomes of fields and types that are new: columns change, or values stay beside them, or rows are refused. */
export type SchemaContract = 'evolve' | 'freeze' | 'reject'

/** Where arrays and objects go: child tables give them a JSON column, report tables leave them to `_extra`. */
export type NestedValues = 'column' | 'extra'

/** The narrowest type that holds every value of these kinds exactly; undefined while there was none. */
export function typeFor(kinds: Kinds, nested: NestedValues = 'extra'): DuckType | undefined {
  if (nested === 'column' && has(kinds, NESTED)) return 'JSON'
  const seen = kinds & SCALARS
  if (seen === 0) return undefined
  if (only(seen, Kind.boolean)) return 'BOOLEAN'
  if (only(seen, Kind.integer | Kind.long)) return 'BIGINT'
  if (only(seen, Kind.integer | Kind.bigInteger | Kind.decimal | Kind.long)) return 'DECIMAL(38,9)'
  if (only(seen, NUMBERS) && has(seen, Kind.exponent) && only(seen, Kind.exponent | Kind.integer | Kind.decimal)) {
    return 'DOUBLE'
  }
  if (only(seen, Kind.date)) return 'DATE'
  if (only(seen, Kind.date | Kind.dateTime)) return 'TIMESTAMPTZ'
  return 'VARCHAR'
}

/** What a column of that type may hold already. */
const HELD: Partial<Record<DuckType, Kinds>> = {
  BOOLEAN: Kind.boolean,
  BIGINT: Kind.integer | Kind.long,
  'DECIMAL(38,9)': Kind.integer | Kind.bigInteger | Kind.decimal | Kind.long,
  DOUBLE: Kind.exponent | Kind.integer | Kind.decimal,
  DATE: Kind.date,
  TIMESTAMPTZ: Kind.date | Kind.dateTime,
  VARCHAR: Kind.text,
}

/** The type that holds both what the column holds already and values of these kinds. */
export function widened(type: DuckType, kinds: Kinds, nested: NestedValues = 'extra'): DuckType {
  if (type === 'JSON') return type
  const held = HELD[type] ?? Kind.text
  if (type === 'VARCHAR' && !(nested === 'column' && has(kinds, NESTED))) return type
  if (only(kinds & (nested === 'column' ? SCALARS | NESTED : SCALARS), held)) return type
  return typeFor(kinds | held, nested) ?? type
}

export interface Known {
  readonly columns: readonly DiscoveredColumn[]
  /** Names that are taken: documented and system columns, keys. */
  readonly taken: readonly string[]
  readonly nested: NestedValues
  readonly contract?: SchemaContract
}

/** What has to change so that every scalar of the fields has a column that holds it. */
export function changesFor(fields: readonly SeenField[], known: Known): ColumnChange[] {
  const byField = new Map(known.columns.map((column) => [column.field, column]))
  const taken = takenNames(known)
  const { contract = 'evolve' } = known
  let count = known.columns.length
  // Told once for a table: where keys are data, every load brings more of them.
  let beyond = 0
  return fields.flatMap((field): ColumnChange[] => {
    const column = byField.get(field.name)
    if (column !== undefined) {
      const type = widened(column.type, field.kinds, known.nested)
      if (type === column.type || contract === 'reject') return []
      if (contract === 'freeze') return [{ change: 'frozen', field: field.name }]
      return [{ change: 'widened', column: { ...column, type }, from: column.type }]
    }
    const type = typeFor(field.kinds, known.nested)
    if (type === undefined || contract === 'reject') return []
    if (contract === 'freeze') return [{ change: 'frozen', field: field.name }]
    if (count >= DISCOVERED_COLUMNS_MAX) {
      beyond += 1
      return beyond > 1 ? [] : [{ change: 'limit', field: field.name }]
    }
    count += 1
    return [{ change: 'added', column: { field: field.name, name: freeName(field.name, taken), type } }]
  })
}

const takenNames = ({ taken, columns }: Pick<Known, 'taken' | 'columns'>): Set<string> =>
  new Set([...RESERVED, ...taken, ...columns.map((column) => column.name)].map((each) => each.toLowerCase()))

export interface Renamed {
  readonly from: string
  readonly column: DiscoveredColumn
}

/** Columns that got a name before it was one of a version's own, under another one. */
export function renamesFor(known: Pick<Known, 'taken' | 'columns'>): Renamed[] {
  const taken = takenNames(known)
  return known.columns
    .filter((column) => VERSION_NAMES.includes(column.name))
    .map((column) => ({ from: column.name, column: { ...column, name: freeName(column.field, taken) } }))
}

/** The name of a field's column, before it has to differ from another one. */
export function columnName(field: string): string {
  const snake = snakeCase(field).slice(0, NAME_LENGTH_MAX)
  return /^[a-z_]/.test(snake) ? snake : `field_${snake}`
}

function freeName(field: string, taken: Set<string>): string {
  const base = columnName(field)
  let candidate = base
  for (let n = 2; taken.has(candidate); n += 1) candidate = `${base}_${n}`
  taken.add(candidate)
  return candidate
}
