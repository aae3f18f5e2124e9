/** Inserts a load's rows without staging, in half the time. If a row is not new, the load is rolled back and staged. */
import { SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import { type Sql, name, names } from '../database/sql.ts'
import { rowsToInsertSql, type MergeCounts, type RowMerge } from './merge.ts'
import { readRows, type StageInput } from './stage.ts'

/** This error rolls the load back, because a row is not new or has a value that does not fit. */
export class NotAllNew extends Error {
  override readonly name = 'NotAllNew'
}

/** Returns true if all rows are probably new, because no row has items and all rows of earlier loads were new. */
export async function mayBeAllNew(
  sql: Sql,
  { report, segment }: Pick<StageInput, 'report' | 'segment'>,
): Promise<boolean> {
  if (segment.rows === 0 || segment.rejected.length > 0 || segment.collections.length > 0) return false
  const others = await sql.rows(
    'SELECT 1 FROM tidemark.loads WHERE report = $1 AND (rows <> inserted OR rejected > 0 OR misfits > 0) LIMIT 1',
    [report.name],
  )
  return others.length === 0
}

/** Inserts the load's rows. Returns undefined if a row is not new or does not fit; the caller must then roll back. */
export async function insertNew(
  sql: Sql,
  parts: StageInput & Pick<RowMerge, 'tableColumns' | 'loadId'>,
): Promise<MergeCounts | undefined> {
  const { report, table, segment, tableColumns, loadId } = parts
  const { columns, sql: rowsSql } = await readRows(sql, parts)
  const target = `main.${name(table.name)}`
  const filled = names([...tableColumns, ...SYSTEM_COLUMNS.map((column) => column.name)])
  const rows = `(${rowsSql}) s WHERE s."~reason" IS NULL AND s."~misfits" IS NULL`
  await sql.rowsInOrder(
    `INSERT INTO ${target} (${filled}) ${rowsToInsertSql({ report, table, tableColumns, loadId, knowsGone: false, columns, rows })}`,
  )
  const key = table.key.length === 1 ? names(table.key) : `(${names(table.key)})`
  const [found] = await sql.rows<{ keys: number; held: number; deleted: number }>(`
    SELECT count(DISTINCT ${key}) AS keys, count(*) FILTER (is_deleted) AS deleted, (
      SELECT count(*) FROM ${target} WHERE _load_id IS DISTINCT FROM ${loadId}
        AND ${key} IN (SELECT ${key} FROM ${target} WHERE _load_id = ${loadId})) AS held
    FROM ${target} WHERE _load_id = ${loadId}`)
  // If a key is repeated, or a key does not fit its column, there are fewer keys than rows.
  if (found === undefined || found.keys !== segment.rows || found.held > 0) return undefined
  return { inserted: segment.rows, updated: 0, unchanged: 0, deleted: found.deleted }
}
