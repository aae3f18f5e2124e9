/**
 * SQL that reads the fields of a load from the staged lines: the columns for DuckDB's JSON reader, and expressions for
 * the text of a field, its typed value, and the JSON that stays in `_extra`.
 */
import { documentedFields, type DuckType, type ReportTable } from '../../../schema/tables.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { DiscoveredColumn, SchemaContract } from '../../plan/columns.ts'
import { has, Kind, NESTED, only, SCALARS } from '../../plan/kinds.ts'
import type { CatalogField, ObjectCatalog } from '../../staging/catalog.ts'
import {
  alwaysFits,
  castOf,
  exactCast,
  exactly,
  holdsAll,
  misfitReason,
  tooFine,
  unmarkedJson,
  unmarkedText,
} from './casts.ts'
import { name, text } from '../database/sqlText.ts'

export interface FieldSource {
  readonly report: Declaration
  readonly table: ReportTable
  readonly discovered: readonly DiscoveredColumn[]
  readonly catalog: ObjectCatalog
  readonly mark: string
}

/** One column of the staged table. */
export interface StagedColumn {
  readonly name: string
  readonly value: string
  /** SQL condition on a row `r`: the row contains the field. It is `true` if all rows do. */
  readonly carried: string
}

export class FieldSql {
  readonly #parts: FieldSource
  readonly #documented: ReadonlySet<string>

  constructor(parts: FieldSource) {
    this.#parts = parts
    this.#documented = documentedFields(parts.report)
  }

  /** Returns the `columns` argument of `read_json`: JSON for fields that may be nested, VARCHAR for all others. */
  readerColumns(): string {
    const fields = this.#parts.catalog.fields.map(
      (field) => `${name(field.stagedName)}: ${text(readType(field, this.#readsJson(field)))}`,
    )
    return `{"#": 'BIGINT', "$": 'BIGINT'${fields.map((field) => `, ${field}`).join('')}}`
  }

  /** Returns the documented and discovered columns that have a field in at least one row of the load. */
  columns(): StagedColumn[] {
    const { table, discovered, catalog } = this.#parts
    const documented = table.fields.flatMap((column): StagedColumn[] => {
      const sources = column.sources.flatMap((source) => catalog.field(source) ?? [])
      // Key columns are included even if no row of the load has a key, because statements use them.
      if (sources.length === 0 && table.key.includes(column.name) && column.sources.length > 0) {
        return [{ name: column.name, value: `NULL::${column.type}`, carried: 'false' }]
      }
      if (sources.length === 0) return []
      const values = sources.map((field) =>
        column.type === 'JSON' ? this.#json(field) : castOf(this.#text(field), column.type, field.kinds),
      )
      const value = values.length === 1 ? (values[0] as string) : `coalesce(${values.join(', ')})`
      return [{ name: column.name, value, carried: this.carried(sources) }]
    })
    const found = discovered.flatMap((column): StagedColumn[] => {
      const field = catalog.field(column.field)
      if (field === undefined) return []
      return [
        {
          name: column.name,
          value: exactCast(this.#text(field), column.type, field.kinds),
          carried: this.carried([field]),
        },
      ]
    })
    return [...documented, ...found]
  }

  /** Returns SQL of the reason why a row can't be stored; NULL if it can. */
  rejectReason(contract: SchemaContract): string {
    const { table, catalog } = this.#parts
    const checks = table.fields.flatMap((column) =>
      column.sources.flatMap((source): string[] => {
        const field = catalog.field(source)
        if (field === undefined || alwaysFits(column.type, field.kinds)) return []
        return [this.#misfit(field, column.type)]
      }),
    )
    const flag = this.#flagField()
    if (flag !== undefined && !alwaysFits('BOOLEAN', flag.kinds)) checks.push(this.#misfit(flag, 'BOOLEAN'))
    if (contract === 'reject') checks.push(...this.#brokenContract())
    return checks.length === 0 ? 'NULL::VARCHAR' : `CASE ${checks.join(' ')} END`
  }

  /** Returns SQL checks for fields that need a new or a wider column although the contract does not allow that. */
  #brokenContract(): string[] {
    return this.#parts.catalog.fields.flatMap((field) => {
      if (field.elements !== undefined || this.#documented.has(field.name) || !has(field.kinds, SCALARS)) return []
      const raw = `r.${name(field.stagedName)}`
      const type = this.#columnTypeOf(field)
      if (type === undefined) {
        const isScalar = has(field.kinds, NESTED) ? `json_type(${raw}) NOT IN ('ARRAY', 'OBJECT')` : 'true'
        return [`WHEN ${raw} IS NOT NULL AND ${isScalar} THEN ${text(unknownField(field.name))}`]
      }
      if (holdsAll(type, field.kinds)) return []
      const value = this.#text(field)
      return [
        `WHEN ${value} IS NOT NULL AND NOT ${exactly(value, type, field.kinds)} THEN ${text(misfitReason(field.name, type))} || left(${value}, 80)`,
      ]
    })
  }

  #misfit(field: CatalogField, type: DuckType): string {
    const sent = `r.${name(field.stagedName)}`
    const value = castOf(this.#text(field), type, field.kinds)
    const told = `${text(misfitReason(field.name, type))} || left(${this.#told(field)}, 80)`
    return `WHEN ${sent} IS NOT NULL AND (${value}) IS NULL THEN ${told}`
  }

  /** Returns SQL of the value in its original form, for messages. */
  #told(field: CatalogField): string {
    const sent = `r.${name(field.stagedName)}::VARCHAR`
    return has(field.kinds, Kind.marked) ? unmarkedText(sent, this.#parts.mark) : sent
  }

  /** Returns SQL of the row's deletion flag: true, false, or NULL if the row has none. */
  deletedFlag(): string {
    const field = this.#flagField()
    return field === undefined ? 'NULL::BOOLEAN' : castOf(this.#text(field), 'BOOLEAN', field.kinds)
  }

  /** Returns SQL that is true if the row contains the collection; NULL if the field is missing or no collection. */
  collection(field: CatalogField): string {
    const raw = `r.${name(field.stagedName)}`
    const isOdd = has(field.kinds, SCALARS)
    const odd = isOdd ? ` AND (${raw} IS NULL OR json_type(${raw}) IN ('ARRAY', 'OBJECT'))` : ''
    return `nullif(${this.carried([field])}${odd}, false)`
  }

  /** Returns SQL of one JSON object with the values that have no column; NULL if there are none. */
  extra(): string {
    const members = this.#parts.catalog.fields.flatMap((field) => {
      const value = this.#extraValue(field)
      return value === undefined ? [] : [`${text(`${JSON.stringify(field.name)}:`)} || (${value})::VARCHAR`]
    })
    return members.length === 0
      ? 'NULL::JSON'
      : `nullif('{' || concat_ws(',', ${members.join(', ')}) || '}', '{}')::JSON`
  }

  /** Returns SQL of the row's fingerprint, which depends on the row's own values, but not on the load's other rows. */
  rowHash(shapeHash: string): string {
    const parts = this.#parts.catalog.fields.map((field) => {
      const raw = `r.${name(field.stagedName)}`
      return `CASE WHEN ${raw} IS NULL THEN 0::UBIGINT ELSE ${this.#hash(field)} END`
    })
    return xorOf([shapeHash, ...parts])
  }

  /**
   * Returns SQL of the hash of a value that is not NULL. DuckDB's type for the field depends on other rows, but the
   * hash must not.
   */
  #hash(field: CatalogField): string {
    const raw = `r.${name(field.stagedName)}`
    const label = text(field.name)
    // The scan has replaced a collection by its summary (src/staging/scanPage.ts).
    if (field.elements !== undefined) return `hash(${label}, ${raw}::VARCHAR)`
    if (!this.#readsJson(field)) return `hash(${label}, ${raw})`
    return `CASE WHEN json_type(${raw}) IN ('ARRAY', 'OBJECT') THEN hash(${label}, ${raw}::VARCHAR, true) ELSE hash(${label}, ${raw} ->> '$') END`
  }

  /** Returns an SQL condition: the row has at least one of the fields. It tests the number of the row's shape. */
  carried(fields: readonly CatalogField[]): string {
    const wanted = new Set(fields.map((field) => field.name))
    const carrying = this.#parts.catalog.shapes.flatMap((shape, number) =>
      shape.some((each) => wanted.has(each)) ? [number] : [],
    )
    if (carrying.length === this.#parts.catalog.shapes.length) return 'true'
    return carrying.length === 0 ? 'false' : `r."$" IN (${carrying.join(', ')})`
  }

  #flagField(): CatalogField | undefined {
    const flag = this.#parts.report.deletedFlag
    return flag === undefined ? undefined : this.#parts.catalog.field(flag)
  }

  #text(field: CatalogField): string {
    const raw = `r.${name(field.stagedName)}`
    const value = this.#readsJson(field)
      ? `CASE WHEN json_type(${raw}) NOT IN ('ARRAY', 'OBJECT') THEN ${raw} ->> '$' END`
      : raw
    return has(field.kinds, Kind.marked) ? unmarkedText(value, this.#parts.mark) : value
  }

  #json(field: CatalogField): string {
    const raw = `r.${name(field.stagedName)}`
    return has(field.kinds, Kind.marked) ? unmarkedJson(raw, this.#parts.mark) : raw
  }

  #columnTypeOf(field: CatalogField): DuckType | undefined {
    return this.#parts.discovered.find((column) => column.field === field.name)?.type
  }

  /** Returns SQL of the value as JSON text, NULL for rows whose value has a column; undefined if each value has one. */
  #extraValue(field: CatalogField): string | undefined {
    const raw = `r.${name(field.stagedName)}`
    if (field.elements !== undefined) {
      if (!has(field.kinds, SCALARS)) return undefined
      return `CASE WHEN json_type(${raw}) NOT IN ('ARRAY', 'OBJECT') THEN ${this.#json(field)} END`
    }
    if (this.#documented.has(field.name)) return this.#tooFineDecimal(field)
    const type = this.#columnTypeOf(field)
    if (type === undefined) return only(field.kinds, Kind.null) ? undefined : this.#json(field)
    // A text may look like a date that does not exist, such as 30 February. A column can't store it.
    const mayMisfit = type === 'TIMESTAMPTZ' || type === 'DATE' || !holdsAll(type, field.kinds)
    if (mayMisfit) {
      const value = this.#text(field)
      const sent = this.#readsJson(field) ? this.#json(field) : `to_json(${raw})`
      return `CASE WHEN ${raw} IS NOT NULL AND NOT coalesce(${exactly(value, type, field.kinds)}, false) THEN ${sent} END`
    }
    if (!this.#readsJson(field)) return undefined
    return `CASE WHEN json_type(${raw}) IN ('ARRAY', 'OBJECT') THEN ${this.#json(field)} END`
  }

  /** Returns SQL of the exact text of a documented decimal that its column would round; undefined if it never does. */
  #tooFineDecimal(field: CatalogField): string | undefined {
    const isDecimal = this.#parts.table.fields.some(
      (column) => column.type === 'DECIMAL(38,9)' && column.sources.includes(field.name),
    )
    if (!isDecimal || !has(field.kinds, Kind.wideDecimal | Kind.exponent | Kind.text)) return undefined
    const value = this.#text(field)
    if (this.#readsJson(field)) return `CASE WHEN ${tooFine(value)} THEN ${this.#json(field)} END`
    return `CASE WHEN ${tooFine(value)} THEN ${has(field.kinds, Kind.text) ? numberOrText(value) : value} END`
  }

  /** Returns whether the field is read as JSON: it may be nested, or it has no column and is kept unchanged. */
  #readsJson(field: CatalogField): boolean {
    if (field.elements !== undefined || has(field.kinds, NESTED)) return true
    if (this.#documented.has(field.name)) return this.#parts.report.fields[field.name]?.type === 'json'
    const type = this.#columnTypeOf(field)
    // A value that does not fit its column is kept unchanged in `_extra`.
    return type === undefined || !holdsAll(type, field.kinds)
  }
}

/** Returns the reason for rejecting a row with a field that has no column. */
export const unknownField = (field: string): string => `the field ${field} has no column (schema_contract: reject)`

/** Returns SQL of the XOR of all parts, as a balanced tree: DuckDB limits how deep an expression may be. */
function xorOf(parts: readonly string[]): string {
  if (parts.length === 1) return parts[0] as string
  const half = parts.length >> 1
  return `xor(${xorOf(parts.slice(0, half))}, ${xorOf(parts.slice(half))})`
}

/** Returns SQL of the JSON text of a value that was a number or a text. */
const numberOrText = (value: string): string =>
  `CASE WHEN regexp_full_match(${value}, '-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?') THEN ${value} ELSE to_json(${value})::VARCHAR END`

function readType(field: CatalogField, readsJson: boolean): string {
  if (field.elements !== undefined) return has(field.kinds, SCALARS) ? 'JSON' : 'VARCHAR'
  return readsJson ? 'JSON' : 'VARCHAR'
}
