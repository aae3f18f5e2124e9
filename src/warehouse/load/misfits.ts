/** Writes `tidemark.misfits`: values that do not fit their columns. */
import type { DuckType, ReportTable } from '../../../schema/tables.ts'
import { VALUES } from '../../../schema/values.ts'
import { countOf, type Sql, name, names, sameSql, text } from '../database/sql.ts'
import type { RowMerge } from './loadSteps.ts'

/** Returns why a value does not fit. Example: `no 64-bit integer`, for text in a BIGINT column. */
export const reasonFor = (type: DuckType): string => VALUES[type as keyof typeof VALUES].misfit

export const misfitSql = (
  condition: string,
  { column, type, value }: { readonly column: string; readonly type: DuckType; readonly value: string },
): string =>
  `CASE WHEN ${condition} THEN {'column': ${text(column)}, 'value': ${value}, 'reason': ${text(reasonFor(type))}} END`

/** Returns SQL for a row's key as text. Example: `1001:EUR`. */
export const misfitKey = ({ key }: Pick<ReportTable, 'key'>, alias: string): string =>
  `concat_ws(':', ${names(key, alias)})`

/** Returns SQL for all texts before a colon of the key: one is the key of the parent, and both keys may have colons. */
const beginningsSql = (key: string): string =>
  `list_transform(range(1, len(split(${key}, ':'))), lambda n: array_to_string(split(${key}, ':')[1:n], ':'))`

export const CREATE_FOUND_MISFITS = `
  CREATE OR REPLACE TEMP TABLE found_misfits ("table" VARCHAR, "column" VARCHAR, key VARCHAR, value VARCHAR,
    reason VARCHAR, seen TIMESTAMPTZ)`

type MisfitColumn = { readonly table: string; readonly column: string }

export async function recordMisfits(sql: Sql, load: RowMerge): Promise<number> {
  const { report, table, staged, loadId, rules } = load
  const isAudit = report.perRecord !== undefined
  if (staged.mayMisfit) await sql.run(isAudit ? entryMisfitsSql(table, loadId) : rowMisfitsSql(table))
  const found = await countOf(sql, 'found_misfits')
  const stored = await sql.cachedRows<MisfitColumn>(`
    SELECT DISTINCT "table", "column" FROM tidemark.misfits WHERE report = ${text(report.name)}`)
  if (found === 0 && stored.length === 0) return 0
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE old_misfits AS
    SELECT *, unnest(CASE WHEN "table" = report THEN [key] ELSE ${beginningsSql('key')} END) AS parent
    FROM (SELECT rowid AS tid, * FROM tidemark.misfits WHERE report = ${text(report.name)})`)
  if (stored.length > 0) await sql.run(isAudit ? deleteOldEntryMisfitsSql(table) : deleteOldMisfitsSql(load, stored))
  await sql.run(`
    INSERT INTO tidemark.misfits
    SELECT ${text(report.name)}, f."table", f."column", f.key, ${rules.excludePayload ? 'NULL' : 'any_value(f.value)'}, any_value(f.reason),
      least(min(o.first_seen), min(f.seen)), max(f.seen), ${loadId}
    FROM found_misfits f
    LEFT JOIN (SELECT DISTINCT * EXCLUDE (parent) FROM old_misfits) o ON o."table" = f."table" AND o."column" = f."column" AND o.key = f.key
    GROUP BY f."table", f."column", f.key;
    DROP TABLE old_misfits`)
  return found
}

const rowMisfitsSql = (table: ReportTable): string => `
  INSERT INTO found_misfits
  SELECT ${text(table.name)}, m.column, k, m.value, m.reason, seen FROM (
    SELECT ${misfitKey(table, 's')} AS k, s."~observed_at" AS seen, unnest(s."~misfits") AS m
    FROM written_rows w JOIN staged s ON s.rowid = w.sid)`

/** Staged audit entries have no number yet, so their record and hash identify them. */
function entryMisfitsSql(table: ReportTable, loadId: number): string {
  const record = sameSql(table.asked, 't', 's')
  return `
    INSERT INTO found_misfits
    SELECT ${text(table.name)}, m.column, k, m.value, m.reason, seen FROM (
      SELECT DISTINCT ${misfitKey(table, 't')} AS k, s."~observed_at" AS seen, unnest(s."~misfits") AS m
      FROM staged s JOIN main.${name(table.name)} t ON ${record} AND t._row_hash = s."~row_hash"
      WHERE s."~misfits" IS NOT NULL AND t._load_id = ${loadId})`
}

/** Deletes stored misfits of written rows, for fields that they contain. For other rows, updates `last_seen`. */
function deleteOldMisfitsSql(load: RowMerge, stored: readonly MisfitColumn[]): string {
  const { table } = load
  const carried = stored.map((each) => {
    const isColumn = `o."table" = ${text(each.table)} AND o."column" = ${text(each.column)}`
    return `WHEN ${isColumn} THEN ${carriesSql(load, each)}`
  })
  const written = 's.rowid IN (SELECT sid FROM written_rows)'
  return `
    DELETE FROM tidemark.misfits WHERE rowid IN (
      SELECT o.tid FROM old_misfits o JOIN staged s ON ${misfitKey(table, 's')} = o.parent
      WHERE ${written} AND CASE ${carried.join(' ')} END);
    UPDATE tidemark.misfits m SET last_seen = u.seen
    FROM (SELECT o.tid, s."~observed_at" AS seen FROM old_misfits o JOIN staged s ON ${misfitKey(table, 's')} = o.parent
      WHERE NOT (${written}) AND s."~observed_at" > o.last_seen) u
    WHERE m.rowid = u.tid`
}

function carriesSql({ report, table, staged }: RowMerge, stored: MisfitColumn): string {
  const child = table.children.find((each) => each.name === stored.table)
  if (child !== undefined) return staged.carries(child.field)
  if (stored.column === 'is_deleted' && report.deletedFlag !== undefined) return staged.carries(report.deletedFlag)
  return staged.columns.find((column) => column.name === stored.column)?.carried ?? 'false'
}

const deleteOldEntryMisfitsSql = (table: ReportTable): string => `
  DELETE FROM tidemark.misfits WHERE rowid IN (
    SELECT tid FROM old_misfits WHERE key NOT IN (SELECT ${misfitKey(table, 't')} FROM main.${name(table.name)} t))`
