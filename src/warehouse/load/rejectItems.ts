/** Applies the contract `reject` to collections: if an item has a field without a column, its row is rejected. */
import type { ReportTable } from '../../../schema/tables.ts'
import { type DiscoveredColumn, typeFor } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { Segment } from '../../staging/spool.ts'
import { CHILD_DELETED_FIELD, itemsSql, itemText } from './items.ts'
import { type Sql, text } from '../database/sql.ts'
import { unknownField } from './fieldSql.ts'

export interface CollectionItems {
  readonly table: ReportTable
  readonly segment: Segment
  readonly discoveredOf: (table: string) => readonly DiscoveredColumn[]
}

/** Rejects each row of `staged` that has an item with an unknown field: writes the reason to the column `~reason`. */
export async function rejectItems(sql: Sql, { table, segment, discoveredOf }: CollectionItems): Promise<void> {
  for (const items of segment.collections) {
    const child = table.children.find((each) => each.field === items.field)
    const fields = segment.catalog.field(items.field)?.elements?.fields ?? []
    const columns = new Set(discoveredOf(child?.name ?? '').map((column) => column.field))
    const unknown = fields.filter((field) => needsColumn(field) && !columns.has(field.name))
    if (unknown.length === 0) continue
    const reasons = unknown
      .map((field) => `WHEN ${itemText(field, 'i')} IS NOT NULL THEN ${text(unknownField(field.name))}`)
      .join(' ')
    await sql.run(`
      UPDATE staged SET "~reason" = b.reason
      FROM (SELECT i.ordinal, any_value(${text(`${items.field}: `)} || (CASE ${reasons} END)) AS reason
        FROM ${itemsSql(items, fields)} i WHERE (CASE ${reasons} END) IS NOT NULL GROUP BY i.ordinal) b
      WHERE b.ordinal = staged."~ordinal" AND staged."~reason" IS NULL`)
  }
}

const needsColumn = (field: CatalogField): boolean =>
  (field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED)) && typeFor(field.kinds, 'column') !== undefined
