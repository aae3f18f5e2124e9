/**
 * Rejects rows if the contract is `reject` and an item of one of their collections has a field without a column, or a
 * value that does not fit its column.
 */
import type { ReportTable } from '../../../schema/tables.ts'
import { type DiscoveredColumn, typeFor } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { Segment } from '../../staging/spool.ts'
import { exactly, holdsAll, misfitReason } from './casts.ts'
import { CHILD_DELETED_FIELD } from './items.ts'
import type { Sql } from '../database/duckdb.ts'
import { itemIsNested, itemsSql, itemText } from './items.ts'
import { unknownField } from './fieldSql.ts'
import { text } from '../database/sqlText.ts'

export interface CollectionItems {
  readonly table: ReportTable
  readonly segment: Segment
  readonly discoveredOf: (table: string) => readonly DiscoveredColumn[]
}

/** Sets the reason in those rows of `staged` that are rejected. */
export async function refuseItems(sql: Sql, { table, segment, discoveredOf }: CollectionItems): Promise<void> {
  for (const items of segment.collections) {
    const child = table.children.find((each) => each.field === items.field)
    const fields = segment.catalog.field(items.field)?.elements?.fields ?? []
    const columns = new Map(discoveredOf(child?.name ?? '').map((column) => [column.field, column]))
    const broken = fields.flatMap((field) => brokenBy(field, columns.get(field.name)))
    if (broken.length === 0) continue
    const reasons = broken.map(({ when, reason }) => `WHEN ${when} THEN ${reason}`).join(' ')
    await sql.run(`
      UPDATE staged SET "~reason" = b.reason
      FROM (SELECT i.ordinal, any_value(${text(`${items.field}: `)} || (CASE ${reasons} END)) AS reason
        FROM ${itemsSql(items, fields)} i WHERE (CASE ${reasons} END) IS NOT NULL GROUP BY i.ordinal) b
      WHERE b.ordinal = staged."~ordinal" AND staged."~reason" IS NULL`)
  }
}

interface Broken {
  /** SQL condition on an item `i`. */
  readonly when: string
  readonly reason: string
}

function brokenBy(field: CatalogField, column: DiscoveredColumn | undefined): Broken[] {
  const isFlag = field.name === CHILD_DELETED_FIELD && !has(field.kinds, NESTED)
  if (isFlag || typeFor(field.kinds, 'column') === undefined) return []
  const value = itemText(field, 'i')
  if (column === undefined) return [{ when: `${value} IS NOT NULL`, reason: text(unknownField(field.name)) }]
  const { type } = column
  if (type === 'JSON' || (holdsAll(type, field.kinds) && !has(field.kinds, NESTED))) return []
  const misfits = `(${itemIsNested(field, 'i')} OR NOT ${exactly(value, type, field.kinds)})`
  const reason = `${text(misfitReason(field.name, type))} || left(${value}, 80)`
  return [{ when: `${value} IS NOT NULL AND ${misfits}`, reason }]
}
