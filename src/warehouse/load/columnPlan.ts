/** Plans which columns a load's fields need. The plan is made before the load's transaction and is applied in it. */
import type { ReportTable } from '../../../schema/tables.ts'
import { type ColumnChange, changesFor, type DiscoveredColumn } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { Sql } from '../database/sql.ts'
import { applyChanges, childColumns, recordChanges, reportColumns } from '../tables/tables.ts'
import { CHILD_DELETED_FIELD } from './items.ts'
import type { LoadInput, LoadPlace, TableChange } from './loadInput.ts'

export interface ColumnPlan {
  readonly changes: readonly { readonly table: string; readonly changes: readonly ColumnChange[] }[]
  readonly columns: (table: string) => readonly DiscoveredColumn[]
}

export function planColumns(
  place: Pick<LoadPlace, 'discovered'>,
  table: ReportTable,
  { report, segment, rules }: LoadInput,
): ColumnPlan {
  if (segment === undefined) return { changes: [], columns: (name) => place.discovered.get(name) ?? [] }
  const contract = rules?.contract ?? 'evolve'
  const documented = new Set(Object.values(report.fields).flatMap((field) => field.also ?? []))
  for (const field of Object.keys(report.fields)) documented.add(field)
  const own = segment.catalog.fields.filter((field) => !documented.has(field.name) && field.elements === undefined)
  const ownKnown = {
    columns: place.discovered.get(table.name) ?? [],
    taken: reportColumns(table).map((column) => column.name),
    nested: 'extra' as const,
    contract,
  }
  const plans = [{ table: table.name, known: ownKnown.columns, changes: changesFor(own, ownKnown) }]
  for (const child of table.children) {
    const elements = segment.catalog.field(child.field)?.elements?.fields ?? []
    const columns = place.discovered.get(child.name) ?? []
    const taken = childColumns(table).map((column) => column.name)
    const fields = elements.filter((field) => field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED))
    plans.push({
      table: child.name,
      known: columns,
      changes: changesFor(fields, { columns, taken, nested: 'column', contract }),
    })
  }
  const after = new Map(plans.map((plan) => [plan.table, applyToColumns(plan.known, plan.changes)]))
  return { changes: plans.filter((plan) => plan.changes.length > 0), columns: (name) => after.get(name) ?? [] }
}

function applyToColumns(known: readonly DiscoveredColumn[], changes: readonly ColumnChange[]): DiscoveredColumn[] {
  const byField = new Map(known.map((column) => [column.field, column]))
  for (const change of changes) if ('column' in change) byField.set(change.column.field, change.column)
  return [...byField.values()]
}

export async function makeColumns(
  sql: Sql,
  plan: ColumnPlan,
  load: { readonly report: string; readonly loadId: number },
): Promise<readonly TableChange[]> {
  const made: TableChange[] = []
  for (const { table, changes } of plan.changes) {
    const where = { ...load, table }
    await applyChanges(sql, where, changes)
    const recorded = await recordChanges(sql, where, changes)
    made.push(...recorded.map((change) => ({ table, change })))
  }
  return made
}

export const filledColumns = (table: ReportTable, plan: ColumnPlan): string[] =>
  [...table.asked, ...table.fields, ...plan.columns(table.name)].map((column) => column.name)
