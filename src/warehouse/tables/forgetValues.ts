/** Removes the stored values of a column that becomes private, even in rows that the service no longer returns. */
import { randomUUID } from 'node:crypto'
import type { Declaration } from '../../../schema/report.ts'
import { SyncError } from '../../errors.ts'
import { columnName, type DiscoveredColumn } from '../../plan/columns.ts'
import { CHILD_ID_FIELD } from '../../plan/stagedNames.ts'
import { childName, type NewlyPrivate, otherNames } from '../../plan/privacy.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import { type Sql, name, text } from '../database/sql.ts'
import { closedName, hadHistory } from './versions.ts'
import { discoveredColumns, retype } from './tables.ts'

export interface PrivacyChange {
  readonly report: Declaration
  /** A currency, the prefix of an entity's audit trails such as `3:`, or an empty text for all rows. */
  readonly scope: string
  readonly now: NewlyPrivate
}

/** Removes newly private values. Returns false if there are none. Throws CONFIG_INVALID for columns like `name_2`. */
export async function forgetValues(sql: Sql, { report, scope, now }: PrivacyChange): Promise<boolean> {
  if (now.columns.length === 0 && !now.payload) return false
  const table = tableOf(report)
  const kept = await hadHistory(sql, report.name)
  const where = scopeCondition(report, scope)
  for (const target of [table.name, ...table.children.map((child) => child.name)]) {
    const places = [`main.${name(target)}`, ...(kept ? [`history.${name(closedName(target))}`] : [])]
    const { sets, toText } = await columnsToEmpty(sql, { table, target, now })
    await retype(sql, { report: report.name, table: target }, toText)
    for (const place of places) await sql.run(`UPDATE ${place} SET ${sets.join(', ')} WHERE ${where}`)
  }
  const within = scope === '' ? 'true' : `starts_with(scope, ${text(scope)})`
  await sql.run(`DELETE FROM tidemark.rejected_rows WHERE report = ${text(report.name)} AND ${within};
    DELETE FROM tidemark.misfits WHERE report = ${text(report.name)}`)
  return true
}

function scopeCondition(report: Declaration, scope: string): string {
  const first = report.asked[0]
  if (scope === '' || first === undefined) return 'true'
  return `${name(first.column)}::VARCHAR = ${text(scope.replace(/:$/, ''))}`
}

async function columnsToEmpty(
  sql: Sql,
  { table, target, now }: { table: ReportTable; target: string; now: NewlyPrivate },
) {
  const isChild = target !== table.name
  const prefix = isChild ? `${childName(table.name, target)}.` : ''
  const ruled = now.columns.filter((rule) => rule.startsWith(prefix) && (isChild || !rule.includes('.')))
  const names = ruled.map((rule) => rule.slice(prefix.length))
  const wanted = new Set(isChild ? names : names.flatMap((each) => [each, ...otherNames(table, each)]))
  const collection = isChild && now.columns.includes(childName(table.name, target))
  const known = (await discoveredColumns(sql)).get(target) ?? []
  for (const column of known) rejectNumberedColumn(column, { prefix, names })
  const documented = isChild ? [] : table.fields.filter((column) => wanted.has(column.name))
  const found = known.filter(({ field }) => collection || wanted.has(columnName(field)))
  const emptied = [...documented, ...found].map((column) => name(column.name))
  if (now.payload || wanted.size > 0 || collection) emptied.push(isChild ? '_payload' : '_extra')
  const isHashed = ({ field, type }: DiscoveredColumn): boolean =>
    type !== 'VARCHAR' && type !== 'JSON' && now.hashed.includes(`${prefix}${columnName(field)}`)
  const toText = found.filter(isHashed).map((column) => ({ ...column, type: 'VARCHAR' as const }))
  const sets = [...emptied, '_row_hash'].map((column) => `${column} = NULL`)
  // Items keep distinct keys. These do not reveal the identifiers, because the random text is not stored.
  if (isChild && (collection || wanted.has(CHILD_ID_FIELD)))
    sets.push(`_child_key = md5(_child_key || '${randomUUID()}')`)
  return { sets, toText }
}

/** Rejects a rule with a column such as `name_2`, which got a number because two fields have the same column name. */
function rejectNumberedColumn(
  column: Pick<DiscoveredColumn, 'name' | 'field'>,
  { prefix, names }: { readonly prefix: string; readonly names: readonly string[] },
): void {
  const own = columnName(column.field)
  if (column.name === own || !names.includes(column.name)) return
  throw new SyncError('CONFIG_INVALID', `columns: ${prefix}${column.name} is filled by the field ${column.field}`, {
    cure: `Name ${prefix}${own} instead: it applies to this field and to all other fields with the same column name.`,
  })
}
