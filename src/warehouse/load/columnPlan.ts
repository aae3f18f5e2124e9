/** Plans which columns a load's fields need. The plan is made before the load's transaction and is applied in it. */
import type { ReportTable } from '../../../schema/tables.ts'
import { changesFor, type ColumnChange, type ColumnContext, type SeenField } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { Sql } from '../database/sql.ts'
import { applyChanges, childColumns, recordChanges, reportColumns } from '../tables/tables.ts'
import { CHILD_DELETED_FIELD } from './items.ts'
import { type LoadInput, type LoadPlace, type LoadResult, NO_RULES } from './loadInput.ts'
import type { ColumnPlan, Loading } from './loading.ts'

export function planColumns(
  { discovered: stored }: Pick<LoadPlace, 'discovered'>,
  table: ReportTable,
  { report, segment, rules: { contract } = NO_RULES }: LoadInput,
): ColumnPlan {
  const after = new Map(stored)
  const columnChanges: { table: string; changes: ColumnChange[] }[] = []
  const plan = (name: string, fields: readonly SeenField[], given: Pick<ColumnContext, 'taken' | 'nested'>): void => {
    const columns = stored.get(name) ?? []
    const changes = changesFor(fields, { ...given, columns, contract })
    if (changes.length === 0) return
    columnChanges.push({ table: name, changes })
    const byField = new Map(columns.map((column) => [column.field, column]))
    for (const change of changes) if ('column' in change) byField.set(change.column.field, change.column)
    after.set(name, [...byField.values()])
  }
  if (segment !== undefined) {
    const documented = new Set(Object.entries(report.fields).flatMap(([field, { also = [] }]) => [field, ...also]))
    const own = segment.catalog.fields.filter((field) => !documented.has(field.name) && field.elements === undefined)
    plan(table.name, own, { taken: reportColumns(table).map((column) => column.name), nested: 'extra' })
    for (const child of table.children) {
      const elements = segment.catalog.field(child.field)?.elements?.fields ?? []
      const fields = elements.filter((field) => field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED))
      plan(child.name, fields, { taken: childColumns(table).map((column) => column.name), nested: 'column' })
    }
  }
  const discovered = (name: string) => after.get(name) ?? []
  const tableColumns = [...table.asked, ...table.fields, ...discovered(table.name)].map((column) => column.name)
  return { columnChanges, discovered, tableColumns }
}

export async function makeColumns(sql: Sql, load: Loading, loadId: number): Promise<LoadResult['changes']> {
  const made: LoadResult['changes'][number][] = []
  for (const { table, changes } of load.columnChanges) {
    const place = { report: load.report.name, loadId, table }
    await applyChanges(sql, place, changes)
    made.push(...(await recordChanges(sql, place, changes)).map((change) => ({ table, change })))
  }
  return made
}
