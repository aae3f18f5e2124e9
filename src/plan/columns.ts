/** Decides which undocumented fields become columns, and under which names and types (product contract §4). */
import { type DuckType, snakeCase, VERSION_COLUMNS } from '../../schema/tables.ts'
import { has, Kind, type Kinds, NESTED, only, SCALARS } from './kinds.ts'

/** Maximum number of discovered columns in a table. Values of other fields stay in `_extra` or `_payload`. */
export const DISCOVERED_COLUMNS_MAX = 500
const NAME_LENGTH_MAX = 120
/** Names that no column may have: of DuckDB's row identifier, and of columns that the change feed and a history add. */
const RESERVED = ['rowid', '_change', ...VERSION_COLUMNS.map((column) => column.name)]

export interface DiscoveredColumn {
  readonly field: string
  readonly name: string
  readonly type: DuckType
  readonly isRetyped?: boolean
}

export interface SeenField {
  readonly name: string
  readonly kinds: Kinds
}

export type ColumnChange =
  | { readonly change: 'added'; readonly column: DiscoveredColumn }
  | { readonly change: 'widened' | 'retyped'; readonly column: DiscoveredColumn; readonly from: DuckType }
  | { readonly change: 'limit' | 'frozen'; readonly field: string }

/** `evolve` changes columns, `freeze` stores new fields as JSON only, `reject` rejects the row. */
export type SchemaContract = 'evolve' | 'freeze' | 'reject'

/** Arrays and objects are stored in a JSON column (child tables) or in `_extra` (a report's table). */
export type NestedValues = 'column' | 'extra'

export function typeFor(kinds: Kinds, nested: NestedValues = 'extra'): DuckType | undefined {
  if (nested === 'column' && has(kinds, NESTED)) return 'JSON'
  const seen = kinds & SCALARS
  if (seen === 0) return undefined
  if (only(seen, Kind.boolean)) return 'BOOLEAN'
  if (only(seen, Kind.integer | Kind.long)) return 'BIGINT'
  if (only(seen, DECIMALS | Kind.long)) return 'DECIMAL(38,9)'
  if (has(seen, Kind.exponent) && only(seen, Kind.exponent | DECIMALS)) return 'DOUBLE'
  return only(seen, Kind.dateTime) ? 'TIMESTAMPTZ' : 'VARCHAR'
}

const DECIMALS = Kind.integer | Kind.bigInteger | Kind.decimal | Kind.whole

export const widened = (type: DuckType, kinds: Kinds): DuckType =>
  type === 'BIGINT' && has(kinds, Kind.decimal | Kind.bigInteger) ? 'DECIMAL(38,9)' : type

export interface ColumnContext {
  readonly columns: readonly DiscoveredColumn[]
  readonly taken: readonly string[]
  readonly nested: NestedValues
  readonly contract?: SchemaContract
}

export function changesFor(fields: readonly SeenField[], known: ColumnContext): ColumnChange[] {
  const byField = new Map(known.columns.map((column) => [column.field, column]))
  const taken = takenNames(known)
  const { contract = 'evolve' } = known
  let count = known.columns.length
  // Reports once per table that it has the maximum number of columns: some services send thousands of field names.
  let beyondLimit = 0
  return fields.flatMap((field): ColumnChange[] => {
    const column = byField.get(field.name)
    if (column !== undefined) {
      const type = widened(column.type, field.kinds)
      if (type === column.type || column.isRetyped === true || contract === 'reject') return []
      if (contract === 'freeze') return [{ change: 'frozen', field: field.name }]
      return [{ change: 'widened', column: { ...column, type }, from: column.type }]
    }
    const type = typeFor(field.kinds, known.nested)
    if (type === undefined || contract === 'reject') return []
    if (contract === 'freeze') return [{ change: 'frozen', field: field.name }]
    if (count >= DISCOVERED_COLUMNS_MAX) {
      beyondLimit += 1
      return beyondLimit > 1 ? [] : [{ change: 'limit', field: field.name }]
    }
    count += 1
    return [{ change: 'added', column: { field: field.name, name: freeName(field.name, taken), type } }]
  })
}

const takenNames = ({ taken, columns }: Pick<ColumnContext, 'taken' | 'columns'>): Set<string> =>
  new Set([...RESERVED, ...taken, ...columns.map((column) => column.name)].map((each) => each.toLowerCase()))

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
