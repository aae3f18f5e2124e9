/** Builds SQL that reads the fields of staged rows. */
import { type DuckType } from '../../../schema/tables.ts'
import type { DiscoveredColumn } from '../../plan/columns.ts'
import { has, Kind, NESTED, NUMBERS, only, SCALARS, TEXTS } from '../../plan/kinds.ts'
import type { CatalogField, ObjectCatalog } from '../../staging/catalog.ts'
import { alwaysFits, castOf, isNestedSql, misfits, roundsSql, unmarkedJson, unmarkedText } from './casts.ts'
import { name, text } from '../database/sql.ts'
import type { FileLoad, StagedColumn } from './loadSteps.ts'
import { misfitSql, reasonFor } from './misfits.ts'

export class FieldSql {
  readonly #load: FileLoad
  readonly #catalog: ObjectCatalog
  readonly #discovered: readonly DiscoveredColumn[]

  constructor(load: FileLoad) {
    this.#load = load
    this.#catalog = load.segment.catalog
    this.#discovered = load.discovered(load.table.name)
  }

  readerColumns(): string {
    const fields = this.#catalog.fields.map((field) => {
      const isJson = field.elements === undefined ? this.#readsJson(field) : has(field.kinds, SCALARS)
      return `, ${name(field.stagedName)}: '${isJson ? 'JSON' : 'VARCHAR'}'`
    })
    return `{"#": 'BIGINT', "$": 'BIGINT'${fields.join('')}}`
  }

  columns(): StagedColumn[] {
    const { table } = this.#load
    const found = this.#discovered.map(({ field, ...column }) => ({ ...column, sources: [field] }))
    return [...table.fields, ...found].flatMap((column): StagedColumn[] => {
      const sources = column.sources.flatMap((source) => this.#catalog.field(source) ?? [])
      // Later statements use all key columns, so a key column that no field fills is NULL.
      if (sources.length === 0 && table.key.includes(column.name) && column.sources.length > 0) {
        return [{ name: column.name, value: `NULL::${column.type}`, carried: 'false' }]
      }
      if (sources.length === 0) return []
      const values = sources.map((field) => this.#value(field, column.type))
      const value = values.length === 1 ? (values[0] as string) : `coalesce(${values.join(', ')})`
      return [{ name: column.name, value, carried: this.carried(sources) }]
    })
  }

  rejectReason(): string {
    const { table, rules } = this.#load
    const checks = this.#catalog.fields.flatMap((field) => {
      const column = table.fields.find(
        ({ name: key, sources }) => table.key.includes(key) && sources.includes(field.name),
      )
      if (column === undefined || alwaysFits(column.type, field.kinds)) return []
      const reason = text(`${field.name} is ${reasonFor(column.type)}: `)
      const value = this.#text(field)
      return [
        `WHEN (${castOf(value, column.type, field.kinds)}) IS NULL THEN ${reason} || left(coalesce(${value}, ${this.#sent(field)}), 80)`,
      ]
    })
    if (rules.contract === 'reject') checks.push(...this.#unknownFields())
    return checks.length === 0 ? 'NULL::VARCHAR' : `CASE ${checks.join(' ')} END`
  }

  #unknownFields(): string[] {
    return this.#catalog.fields.flatMap((field) => {
      if (field.elements !== undefined || this.#typeOf(field) !== undefined || !has(field.kinds, SCALARS)) return []
      const raw = rawSql(field)
      const isScalar = has(field.kinds, NESTED) ? `NOT ${isNestedSql(raw)}` : 'true'
      return [`WHEN ${raw} IS NOT NULL AND ${isScalar} THEN ${unknownField(field)}`]
    })
  }

  misfits(): string | undefined {
    const { table, report } = this.#load
    const found = this.#catalog.fields.flatMap((field) => {
      const type = this.#typeOf(field)
      if (type === undefined || alwaysFits(type, field.kinds)) return []
      const documented = table.fields.filter(({ sources }) => sources.includes(field.name))
      const found = this.#discovered.filter((column) => column.field === field.name)
      const flag = field.name === report.deletedFlag ? [{ name: 'is_deleted' }] : []
      const columns = [...documented, ...found, ...flag].map((column) => column.name)
      if (columns.some((column) => table.key.includes(column))) return []
      return columns.map((column) => misfitSql(this.#isMisfit(field, type), { column, type, value: this.#sent(field) }))
    })
    return found.length === 0 ? undefined : `nullif(list_filter([${found.join(', ')}], lambda x: x IS NOT NULL), [])`
  }

  #isMisfit(field: CatalogField, type: DuckType): string {
    const raw = rawSql(field)
    const scalar = `coalesce(${misfits(this.#text(field), type, field.kinds)}, false)`
    const isMisfit = has(field.kinds, NESTED) ? `(${isNestedSql(raw)} OR ${scalar})` : scalar
    return `${raw} IS NOT NULL AND ${isMisfit}`
  }

  #sent(field: CatalogField): string {
    if (this.#readsJson(field)) return `(${this.#json(field)})::VARCHAR`
    return has(field.kinds, TEXTS) ? `to_json(${rawSql(field)})::VARCHAR` : this.#text(field)
  }

  deletedFlag(): string {
    const { deletedFlag: flag } = this.#load.report
    const field = flag === undefined ? undefined : this.#catalog.field(flag)
    return field === undefined ? 'NULL::BOOLEAN' : castOf(this.#text(field), 'BOOLEAN', field.kinds)
  }

  /** Returns SQL that is true if the row contains the collection, otherwise NULL. */
  collection(field: CatalogField): string {
    const raw = rawSql(field)
    const odd = has(field.kinds, SCALARS) ? ` AND (${raw} IS NULL OR ${isNestedSql(raw)})` : ''
    return `nullif(${this.carried([field], 'r."$"')}${odd}, false)`
  }

  extra(): string {
    const members = this.#catalog.fields.flatMap((field) => {
      const value = this.#extraValue(field)
      return value === undefined ? [] : [`${text(`${JSON.stringify(field.name)}:`)} || (${value})::VARCHAR`]
    })
    return members.length === 0
      ? 'NULL::JSON'
      : `nullif('{' || concat_ws(',', ${members.join(', ')}) || '}', '{}')::JSON`
  }

  /** Returns SQL for the row's fingerprint, which depends on this row alone. */
  rowHash(shapeHash: string): string {
    const parts = this.#catalog.fields.map((field) => {
      const hash = this.#hash(field)
      const isAlwaysSent = !has(field.kinds, Kind.null) && this.carried([field]) === 'true'
      return isAlwaysSent ? hash : `CASE WHEN ${rawSql(field)} IS NULL THEN 0::UBIGINT ELSE ${hash} END`
    })
    return xorOf([shapeHash, ...parts])
  }

  /** Returns SQL for the hash of a field: the same hash whether DuckDB read the field as JSON or as text. */
  #hash(field: CatalogField): string {
    const raw = rawSql(field)
    const label = text(field.name)
    // The scan has replaced the collection with its digest (src/staging/scanPage.ts).
    if (field.elements !== undefined) return `hash(${label}, ${raw}::VARCHAR)`
    if (!this.#readsJson(field)) return `hash(${label}, ${raw})`
    return `CASE WHEN ${isNestedSql(raw)} THEN hash(${label}, ${raw}::VARCHAR, true) ELSE hash(${label}, ${raw} ->> '$') END`
  }

  /** Returns SQL that is true if a row has at least one of the fields. */
  carried(fields: readonly CatalogField[], shape = 's."~shape"'): string {
    const wanted = new Set(fields.map((field) => field.name))
    const carrying = this.#catalog.shapes.map((shape) => shape.some((each) => wanted.has(each)))
    if (!carrying.includes(false)) return 'true'
    // DuckDB would turn a long IN list into a join, which needs more memory.
    return carrying.includes(true) ? `([${carrying.join(', ')}])[${shape} + 1]` : 'false'
  }

  #value(field: CatalogField, type: DuckType): string {
    return type === 'JSON' ? `(${this.#json(field)})::JSON` : castOf(this.#text(field), type, field.kinds)
  }

  #text(field: CatalogField): string {
    const raw = rawSql(field)
    const value = this.#readsJson(field) ? `CASE WHEN NOT ${isNestedSql(raw)} THEN ${raw} ->> '$' END` : raw
    return has(field.kinds, Kind.marked) ? unmarkedText(value, this.#load.numberPrefix) : value
  }

  #json(field: CatalogField): string {
    const raw = rawSql(field)
    return has(field.kinds, Kind.marked) ? unmarkedJson(raw, this.#load.numberPrefix) : raw
  }

  #typeOf(field: CatalogField): DuckType | undefined {
    const { report, table } = this.#load
    if (field.name === report.deletedFlag) return 'BOOLEAN'
    const documented = table.fields.find(({ sources }) => sources.includes(field.name))
    return (documented ?? this.#discovered.find((column) => column.field === field.name))?.type
  }

  #extraValue(field: CatalogField): string | undefined {
    if (field.elements !== undefined) {
      if (!has(field.kinds, SCALARS)) return undefined
      return `CASE WHEN NOT ${isNestedSql(rawSql(field))} THEN ${this.#json(field)} END`
    }
    const type = this.#typeOf(field)
    if (type === undefined) return only(field.kinds, Kind.null) ? undefined : this.#json(field)
    const misfit = alwaysFits(type, field.kinds) ? undefined : this.#isMisfit(field, type)
    const reasons = [misfit, roundsSql(this.#text(field), type, field.kinds)].filter((each) => each !== undefined)
    return reasons.length === 0 ? undefined : `CASE WHEN ${reasons.join(' OR ')} THEN ${this.#sent(field)} END`
  }

  #readsJson(field: CatalogField): boolean {
    if (field.elements !== undefined || has(field.kinds, NESTED)) return true
    const type = this.#typeOf(field)
    if (type === undefined || type === 'JSON') return true
    // A field with both texts and numbers is read as JSON: as VARCHAR, the text "7" would look like the number 7.
    return !alwaysFits(type, field.kinds) && has(field.kinds, TEXTS) && has(field.kinds, NUMBERS | Kind.boolean)
  }
}

export const unknownField = (field: CatalogField): string =>
  text(`the field ${field.name} has no column (schema_contract: reject)`)

/** Builds a balanced tree, because DuckDB limits how deep calls can nest. */
function xorOf(parts: readonly string[]): string {
  if (parts.length === 1) return parts[0] as string
  const half = parts.length >> 1
  return `xor(${xorOf(parts.slice(0, half))}, ${xorOf(parts.slice(half))})`
}

const rawSql = (field: CatalogField): string => `r.${name(field.stagedName)}`
