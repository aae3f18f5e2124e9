/**
 * How a load's fields are read from the staged lines: which columns DuckDB's JSON reader is told of, and the
 * expressions that give a column's text, its typed value, or the JSON that stays in `_extra`.
 */
import { documentedFields, type ReportTable } from '../../schema/tables.ts'
import type { Declaration } from '../../schema/report.ts'
import type { DiscoveredColumn } from '../plan/columns.ts'
import { has, Kind, NESTED, only, SCALARS } from '../plan/kinds.ts'
import type { CatalogField, ObjectCatalog } from '../staging/catalog.ts'
import { alwaysFits, castOf, misfitReason, tooFine, unmarkedJson, unmarkedText } from './casts.ts'
import { name, text } from './sqlText.ts'

export interface ReadingParts {
  readonly report: Declaration
  readonly table: ReportTable
  readonly discovered: readonly DiscoveredColumn[]
  readonly catalog: ObjectCatalog
  readonly mark: string
}

/** One column of the staged table: its typed value, and which shapes carry it. */
export interface StagedColumn {
  readonly name: string
  readonly value: string
  /** SQL condition over `r` that says whether the row carries it; `true` when every row does. */
  readonly carried: string
}

export class Reading {
  readonly #parts: ReadingParts
  readonly #documented: ReadonlySet<string>

  constructor(parts: ReadingParts) {
    this.#parts = parts
    this.#documented = documentedFields(parts.report)
  }

  /** The `columns` argument of `read_json`: all text, but JSON for what may be nested. */
  readerColumns(): string {
    const fields = this.#parts.catalog.fields.map(
      (field) => `${name(field.stagedName)}: ${text(readType(field, this.#readsJson(field)))}`,
    )
    return `{"#": 'BIGINT', "$": 'BIGINT'${fields.map((field) => `, ${field}`).join('')}}`
  }

  /** Documented and discovered columns that at least one row of the load carries. */
  columns(): StagedColumn[] {
    const { table, discovered, catalog } = this.#parts
    const documented = table.fields.flatMap((column): StagedColumn[] => {
      const sources = column.sources.flatMap((source) => catalog.field(source) ?? [])
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
          value: castOf(this.#text(field), column.type, field.kinds),
          carried: this.carried([field]),
        },
      ]
    })
    return [...documented, ...found]
  }

  /** The reason why a row can't be stored, or NULL. */
  rejectReason(): string {
    const { table, catalog } = this.#parts
    const checks = table.fields.flatMap((column) =>
      column.sources.flatMap((source): string[] => {
        const field = catalog.field(source)
        if (field === undefined || alwaysFits(column.type, field.kinds)) return []
        const sent = `r.${name(field.stagedName)}`
        const value = castOf(this.#text(field), column.type, field.kinds)
        return [
          `WHEN ${sent} IS NOT NULL AND (${value}) IS NULL THEN ${text(misfitReason(source, column.type))} || left(${sent}::VARCHAR, 80)`,
        ]
      }),
    )
    return checks.length === 0 ? 'NULL::VARCHAR' : `CASE ${checks.join(' ')} END`
  }

  /** The row's own deletion flag: true, false, or NULL where the row carries none. */
  deletedFlag(): string {
    const field = this.#flagField()
    return field === undefined ? 'NULL::BOOLEAN' : castOf(this.#text(field), 'BOOLEAN', field.kinds)
  }

  /** A collection as a list of JSON; NULL where the row doesn't carry it (unknown), empty where it is null. */
  collection(field: CatalogField): string {
    const raw = `r.${name(field.stagedName)}`
    const list = isList(field)
      ? raw
      : `CASE json_type(${raw}) WHEN 'ARRAY' THEN from_json(${raw}, '["JSON"]') WHEN 'OBJECT' THEN [${raw}] END`
    const odd = isList(field) ? 'false' : `${raw} IS NOT NULL AND json_type(${raw}) NOT IN ('ARRAY', 'OBJECT')`
    return `CASE WHEN NOT (${this.carried([field])}) OR (${odd}) THEN NULL ELSE coalesce(${list}, []::JSON[]) END`
  }

  /** What has no column, as one JSON object; NULL when there is nothing. */
  extra(): string {
    const members = this.#parts.catalog.fields.flatMap((field) => {
      const value = this.#extraValue(field)
      return value === undefined ? [] : [`${text(`${JSON.stringify(field.name)}:`)} || (${value})::VARCHAR`]
    })
    return members.length === 0
      ? 'NULL::JSON'
      : `nullif('{' || concat_ws(',', ${members.join(', ')}) || '}', '{}')::JSON`
  }

  /** A fingerprint of what was sent: the same for the same values, whatever other rows of a load carry. */
  rowHash(shapeHash: string): string {
    const parts = this.#parts.catalog.fields.map((field) => {
      const raw = `r.${name(field.stagedName)}`
      return `CASE WHEN ${raw} IS NULL THEN 0::UBIGINT ELSE hash(${text(field.name)}, ${raw}) END`
    })
    return [shapeHash, ...parts].reduce((sum, part) => `xor(${sum}, ${part})`)
  }

  /** Whether a row carries at least one of the fields, by its shape. */
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

  #columnTypeOf(field: CatalogField): string | undefined {
    return this.#parts.discovered.find((column) => column.field === field.name)?.type
  }

  /** The SQL for what of a field has no column: as JSON text, or NULL row by row. */
  #extraValue(field: CatalogField): string | undefined {
    const raw = `r.${name(field.stagedName)}`
    if (field.elements !== undefined) {
      if (!has(field.kinds, SCALARS)) return undefined
      return `CASE WHEN json_type(${raw}) NOT IN ('ARRAY', 'OBJECT') THEN ${this.#json(field)} END`
    }
    if (this.#documented.has(field.name)) return this.#tooFineDecimal(field)
    const type = this.#columnTypeOf(field)
    if (type === undefined) return only(field.kinds, Kind.null) ? undefined : this.#json(field)
    if (this.#readsJson(field))
      return `CASE WHEN json_type(${raw}) IN ('ARRAY', 'OBJECT') THEN ${this.#json(field)} END`
    if (type !== 'TIMESTAMPTZ' && type !== 'DATE') return undefined
    // A date that doesn't exist, such as 30 February: the column can't hold it.
    return `CASE WHEN (${castOf(raw, type, field.kinds)}) IS NULL THEN to_json(${raw}) END`
  }

  /** A documented decimal with more digits than its column: the exact text stays beside the rounded value. */
  #tooFineDecimal(field: CatalogField): string | undefined {
    const isDecimal = this.#parts.table.fields.some(
      (column) => column.type === 'DECIMAL(38,9)' && column.sources.includes(field.name),
    )
    if (!isDecimal || !has(field.kinds, Kind.wideDecimal | Kind.exponent | Kind.text)) return undefined
    const value = this.#text(field)
    return `CASE WHEN ${tooFine(value)} THEN ${this.#readsJson(field) ? this.#json(field) : value} END`
  }

  /** Whether a field is read as JSON: it may be nested, or has no column and stays as it was sent. */
  #readsJson(field: CatalogField): boolean {
    if (field.elements !== undefined || has(field.kinds, NESTED)) return true
    if (this.#documented.has(field.name)) return this.#parts.report.fields[field.name]?.type === 'json'
    return this.#columnTypeOf(field) === undefined
  }
}

/** Only arrays and nulls were seen: the reader can split it into a list by itself, at no cost. */
const isList = (field: CatalogField): boolean => only(field.kinds, Kind.array | Kind.null | Kind.marked)

function readType(field: CatalogField, readsJson: boolean): string {
  if (!readsJson) return 'VARCHAR'
  return field.elements !== undefined && isList(field) ? 'JSON[]' : 'JSON'
}
