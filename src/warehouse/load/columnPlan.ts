/** Plans how a load changes columns, and changes them in the load's transaction. */
import type { ReportTable } from '../../../schema/tables.ts'
import { changesFor, type ColumnChange, type ColumnContext, type SeenField } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { Sql } from '../database/sql.ts'
import { applyChanges, childColumns, discoveredColumns, recordChanges, reportColumns } from '../tables/tables.ts'
import { CHILD_DELETED_FIELD } from './items.ts'
import { type LoadInput, type LoadResult, NO_RULES } from './loadInput.ts'
import type { ColumnPlan, PlannedLoad } from './loadSteps.ts'

/** Plans the changes that a load makes to columns. A load without rows changes none, so no stored columns are read. */
export async function planColumns(sql: Sql, table: ReportTable, input: LoadInput): Promise<ColumnPlan> {
  const { report, segment, rules: { contract } = NO_RULES } = input
  const stored = segment === undefined ? NO_COLUMNS : await discoveredColumns(sql)
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
  return { columnChanges, discovered, tableColumns, storedColumns: columnsAsText(stored, table) }
}

type StoredColumns = Awaited<ReturnType<typeof discoveredColumns>>

const NO_COLUMNS: StoredColumns = new Map()

const columnsAsText = (stored: StoredColumns, table: ReportTable): string =>
  JSON.stringify([table, ...table.children].map(({ name }) => stored.get(name)))

/** Returns whether another process has changed columns since the plan was made. */
export async function isPlanOutdated(sql: Sql, { input, table, storedColumns }: PlannedLoad): Promise<boolean> {
  return input.segment !== undefined && columnsAsText(await discoveredColumns(sql), table) !== storedColumns
}

export async function changeColumns(sql: Sql, load: PlannedLoad, loadId: number): Promise<LoadResult['changes']> {
  const made: LoadResult['changes'][number][] = []
  for (const { table, changes } of load.columnChanges) {
    const place = { report: load.report.name, loadId, table }
    await applyChanges(sql, place, changes)
    made.push(...(await recordChanges(sql, place, changes)).map((change) => ({ table, change })))
  }
  return made
}
