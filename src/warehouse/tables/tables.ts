/** Creates tables with their comments and views, and changes columns. */
import type { ChildTable, Column, DuckType, ReportTable } from '../../../schema/tables.ts'
import { CHILD_COLUMNS, SYSTEM_COLUMNS, tableOf } from '../../../schema/tables.ts'
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { SyncError } from '../../errors.ts'
import type { ColumnChange, DiscoveredColumn } from '../../plan/columns.ts'
import { catalogueOf, columnsIn, isLake } from '../database/catalogue.ts'
import { countOf, onlyRow, type Sql, name, names, text } from '../database/sql.ts'
import { closedName, createHistory, remakeHistoryView, hadHistory } from './versions.ts'

export function parentKeyColumns(table: ReportTable): Column[] {
  const known: readonly Column[] = [...table.asked, ...table.fields]
  return table.key.flatMap((key) => known.find((column) => column.name === key) ?? [])
}

export const reportColumns = (table: ReportTable): Column[] => [...table.asked, ...table.fields, ...SYSTEM_COLUMNS]

export const childColumns = (table: ReportTable) => [...parentKeyColumns(table), ...CHILD_COLUMNS, ...SYSTEM_COLUMNS]

const tablesWithColumns = (table: ReportTable) => [
  { ...table, columns: reportColumns(table) },
  ...table.children.map((child) => ({ ...child, columns: childColumns(table) })),
]

export const countColumns = (report: Declaration, discovered: ReadonlyMap<string, readonly unknown[]>): number =>
  tablesWithColumns(tableOf(report)).flatMap(({ name: table, columns }) => [
    ...columns,
    ...(discovered.get(table) ?? []),
  ]).length

/** Returns SQL for a row's modification time, or undefined if `columns` has none. */
export function stampSql({ newerBy }: Declaration, alias: string, columns = newerBy): string | undefined {
  const stamps = newerBy.filter((column) => columns.includes(column)).map((column) => `${alias}.${name(column)}`)
  return stamps.length > 1 ? `coalesce(${stamps.join(', ')})` : stamps[0]
}

/** Returns SQL for the fields of the key that are in the row, not in its request. Example: `7`, or `7:2` for two fields. */
export const ownKeySql = ({ key, asked }: Declaration, alias: string): string =>
  key
    .filter((column) => !asked.some((each) => each.column === column))
    .map((column) => `${alias}.${name(column)}::VARCHAR`)
    .join(` || ':' || `)

type Compression = Readonly<Record<string, string>>

export async function createTables(sql: Sql, tables: readonly ReportTable[], compressed: Compression): Promise<void> {
  const rows = await sql.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main'`,
  )
  const known = new Set(rows.map((row) => row.name))
  for (const table of tables.flatMap(tablesWithColumns))
    if (!known.has(table.name)) await createTable(sql, table, compressed)
}

/** Adapts columns to changed declarations. Returns the reports of which stored values changed. */
export async function adaptColumns(sql: Sql, tables: readonly ReportTable[]): Promise<ReportName[]> {
  const stored = columnsIn(await catalogueOf(sql), 'main')
  const retyped: ReportName[] = []
  for (const table of tables) {
    const report = table.name as ReportName
    const all = (await hadHistory(sql, report)) ? 'history' : 'main'
    if (all === 'history') await createHistory(sql, report)
    for (const { name: target, columns } of tablesWithColumns(table)) {
      const types = new Map(stored.get(target)?.map(({ name, type }) => [name, type as DuckType]))
      const changes = columns.flatMap((declared): ColumnChange[] => {
        const [column, from] = [{ ...declared, field: declared.name }, types.get(declared.name)]
        if (from === undefined) return [{ change: 'added', column }]
        return from === column.type ? [] : [{ change: 'retyped', column, from }]
      })
      for (const change of changes) await refuseLoss(sql, `${all}.${name(target)}`, change)
      await applyChanges(sql, { report, table: target, newValue: converted }, changes)
      // Without a fingerprint, a row that is read again is written again, and fills the new columns.
      if (changes.length > 0) await sql.run(`UPDATE main.${name(target)} SET _row_hash = NULL`)
      if (changes.some(({ change }) => change === 'retyped')) retyped.push(report)
    }
    const declared = reportColumns(table).map((column) => column.name)
    await sql.run(`
      DELETE FROM tidemark.columns WHERE table_name = ${text(report)} AND column_name IN (${declared.map(text).join(', ')})`)
    const known = [...declared, ...((await discoveredColumns(sql)).get(report) ?? []).map((column) => column.name)]
    // A column whose field is no longer declared is that of an undocumented field from now on.
    for (const { name: column, type } of stored.get(report)?.filter((each) => !known.includes(each.name)) ?? []) {
      const field = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      await sql.run(`INSERT INTO tidemark.columns VALUES (${[report, field, column, type].map(text).join(', ')}, 0)`)
    }
  }
  return retyped
}

const converted: NewValue = (old, { type }) => (type === 'JSON' ? `to_json(${old})` : `try_cast(${old} AS ${type})`)

/** Throws CONFIG_INVALID if a stored value does not fit the changed type. A cast to BIGINT would round 7.5. */
async function refuseLoss(sql: Sql, table: string, change: ColumnChange): Promise<void> {
  if (!('from' in change)) return
  const { column, from } = change
  const [old, value] = [name(column.name), converted(name(column.name), column)]
  const isOther = `try_cast(${old}::VARCHAR AS DOUBLE) <> try_cast((${value})::VARCHAR AS DOUBLE)`
  const lost = await countOf(sql, `${table} WHERE ${old} IS NOT NULL AND (${value} IS NULL OR ${isOther})`)
  if (lost === 0) return
  const cure = `Nothing was changed. Declare its earlier type (${from}) again, or string, which takes every value.`
  throw new SyncError('CONFIG_INVALID', `${table}: ${lost} values of ${old} do not fit ${column.type}`, { cure })
}

type NewTable = Pick<ChildTable, 'name' | 'comment'> & { readonly columns: readonly Column[] }

async function createTable(sql: Sql, table: NewTable, compressed: Compression): Promise<void> {
  const { columns } = table
  const target = `main.${name(table.name)}`
  const definitions = columns.map(({ name: column, type }) => {
    const compression = Object.hasOwn(compressed, column) ? compressed[column] : undefined
    const written = compression === undefined ? '' : ` USING COMPRESSION ${compression}`
    return `${name(column)} ${type}${column === 'is_deleted' ? ' NOT NULL' : ''}${written}`
  })
  const comments = columns.map((column) => commentSql(target, column.name, column.comment))
  await sql.run(`
    CREATE TABLE ${target} (${definitions.join(', ')});
    COMMENT ON TABLE ${target} IS ${text(table.comment)};
    ${comments.join('\n')}
    ${viewSql(table.name)}`)
}

/** Changes columns of a table. DuckDB refuses this in a transaction that has written rows. */
export async function applyChanges(
  sql: Sql,
  { report, table, newValue = (oldColumn, { type }) => `${oldColumn}::${type}` }: Conversion,
  changes: readonly ColumnChange[],
): Promise<void> {
  const kept = (await hadHistory(sql, report)) ? [`history.${name(closedName(table))}`] : []
  const isTyped = changes.some((change) => 'from' in change)
  const convert = isTyped && (await isLake(sql)) ? convertByNewColumn : convertInPlace
  const statements = [`main.${name(table)}`, ...kept].flatMap((target) =>
    changes.flatMap((change) => {
      if (!('column' in change)) return []
      const { column } = change
      return change.change === 'added' ? addColumnSql(target, column) : convert(target, column, newValue)
    }),
  )
  if (statements.length === 0) return
  const views = kept.length === 0 ? '' : `DROP VIEW IF EXISTS history.${name(table)};`
  await sql.run(`DROP VIEW IF EXISTS current.${name(table)}; ${views} ${statements.join('\n')} ${viewSql(table)}`)
  if (kept.length > 0) await remakeHistoryView(sql, report, table)
}

/** Returns SQL that converts a column's value to its new type. */
export type NewValue = (oldColumn: string, column: DiscoveredColumn) => string

type Conversion = Omit<ChangePlace, 'loadId'> & { readonly newValue?: NewValue }

type Convert = (target: string, column: DiscoveredColumn, newValue: NewValue) => string[]

const convertInPlace: Convert = (target, column, newValue) => [
  `ALTER TABLE ${target} ALTER COLUMN ${name(column.name)} SET DATA TYPE ${column.type} USING ${newValue(name(column.name), column)};`,
]

/** DuckLake can't convert the values of a column, so a new column replaces the old one. */
const convertByNewColumn: Convert = (target, column, newValue) => {
  const old = name(`~${column.name}`)
  return [
    `ALTER TABLE ${target} RENAME COLUMN ${name(column.name)} TO ${old};`,
    ...addColumnSql(target, column),
    `UPDATE ${target} SET ${name(column.name)} = ${newValue(old, column)};`,
    `ALTER TABLE ${target} DROP COLUMN ${old};`,
  ]
}

const addColumnSql = (target: string, { name: column, type, field }: DiscoveredColumn): string[] => [
  `ALTER TABLE ${target} ADD COLUMN ${name(column)} ${type};`,
  commentSql(target, column, `Undocumented field ${field}`),
]

export async function retype(sql: Sql, place: Conversion, columns: readonly DiscoveredColumn[]): Promise<void> {
  if (columns.length === 0) return
  const stored = (await discoveredColumns(sql)).get(place.table)
  const typeOf = ({ field, type }: DiscoveredColumn) => stored?.find((each) => each.field === field)?.type ?? type
  const changes = columns.map((column) => ({ change: 'retyped' as const, column, from: typeOf(column) }))
  const last = await onlyRow<{ id: number }>(sql, 'SELECT coalesce(max(load_id), 0) AS id FROM tidemark.loads')
  await applyChanges(sql, place, changes)
  await recordChanges(sql, { ...place, loadId: last.id }, changes)
}

export interface ChangePlace {
  readonly report: string
  readonly table: string
  readonly loadId: number
}

/** Stores the changes that are new and returns them. */
export async function recordChanges(sql: Sql, place: ChangePlace, all: readonly ColumnChange[]) {
  const changes = await changesNotStored(sql, place.table, all)
  const table = text(place.table)
  const columns = changes.flatMap((change) => ('column' in change ? [change.column] : []))
  if (columns.length > 0) {
    const values = columns.map(({ field, name, type }) => `(${text(field)}, ${text(name)}, ${text(type)})`)
    await sql.run(`
      DELETE FROM tidemark.columns WHERE table_name = ${table} AND field IN (${columns.map(({ field }) => text(field)).join(', ')});
      INSERT INTO tidemark.columns
      SELECT ${table}, n.field, n.name, n.type, ${place.loadId} FROM (VALUES ${values.join(', ')}) n(field, name, type)`)
  }
  if (changes.length === 0) return changes
  await sql.run(`
    INSERT INTO tidemark.schema_changes
    SELECT ${text(place.report)}, ${table}, n.name, n.change, n.old_type, n.new_type, ${place.loadId}, now()
    FROM (VALUES ${changes.map(historySql).join(', ')}) n(name, change, old_type, new_type)`)
  return changes
}

/** Leaves out changes that are already stored. Each load reports the same fields without a column. */
async function changesNotStored(sql: Sql, table: string, changes: readonly ColumnChange[]) {
  if (changes.every((change) => 'column' in change)) return changes
  const rows = await sql.rows<{ field: string; change: string }>(`
    SELECT column_name AS field, change FROM tidemark.schema_changes
    WHERE table_name = ${text(table)} AND change IN ('limit', 'frozen')`)
  const frozen = new Set(rows.flatMap(({ field, change }) => (change === 'frozen' ? [field] : [])))
  const isLimited = rows.some(({ change }) => change === 'limit')
  return changes.filter((change) => {
    if (change.change === 'limit') return !isLimited
    return change.change !== 'frozen' || (!frozen.has(change.field) && frozen.size < FROZEN_RECORDED_MAX)
  })
}

/** Maximum number of recorded fields without a column. A service with ids as field names sends them without end. */
const FROZEN_RECORDED_MAX = 500

function historySql(change: ColumnChange): string {
  if (!('column' in change)) return `(${text(change.field)}, '${change.change}', NULL::VARCHAR, NULL::VARCHAR)`
  const from = 'from' in change ? text(change.from) : 'NULL::VARCHAR'
  return `(${text(change.column.name)}, '${change.change}', ${from}, ${text(change.column.type)})`
}

export async function discoveredColumns(sql: Sql): Promise<Map<string, DiscoveredColumn[]>> {
  const rows = await sql.cachedRows<DiscoveredColumn & { table: string }>(
    `SELECT table_name AS "table", field, column_name AS name, type,
       (table_name, column_name) IN (SELECT (table_name, column_name) FROM tidemark.schema_changes WHERE change = 'retyped') AS "isRetyped"
     FROM tidemark.columns ORDER BY load_id, column_name`,
  )
  const byTable = new Map<string, DiscoveredColumn[]>()
  for (const { table, ...column } of rows) byTable.set(table, [...(byTable.get(table) ?? []), column])
  return byTable
}

const commentSql = (target: string, column: string, comment: string): string =>
  `COMMENT ON COLUMN ${target}.${name(column)} IS ${text(comment.replaceAll('\0', '\\0'))};`

export const viewSql = (table: string): string => `
  CREATE OR REPLACE VIEW current.${name(table)} AS
  SELECT * EXCLUDE (${names(SYSTEM_COLUMNS)}) FROM main.${name(table)} WHERE NOT is_deleted;`
