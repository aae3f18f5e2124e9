/**
 * A load of nothing but new rows needs no staging: they go from their file straight to the report's table, in half the
 * time. Whether all of them are new isn't known before. It is looked up in the transaction that writes them, and where
 * it isn't so nothing of that transaction stays, and the load is staged as any other.
 */
import { SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import type { Sql } from '../database/duckdb.ts'
import { freshSql, type MergeCounts } from './merge.ts'
import { name, names } from '../database/sqlText.ts'
import { readRows, type StageInput } from './stage.ts'

/** Thrown in the transaction that wrote them, so that it is rolled back: some of the rows are not new, or don't fit. */
export class NotAllNew extends Error {
  override readonly name = 'NotAllNew'
}

/**
 * Whether it is worth trying: the rows have no items, and every load of the report so far brought nothing but new rows,
 * as those of a first sync do.
 */
export async function mayBeAllNew(
  sql: Sql,
  { report, segment }: Pick<StageInput, 'report' | 'segment'>,
): Promise<boolean> {
  if (segment.rows === 0 || segment.rejected.length > 0 || segment.collections.length > 0) return false
  const others = await sql.rows(
    'SELECT 1 FROM tidemark.loads WHERE report = $1 AND (rows <> inserted OR rejected > 0) LIMIT 1',
    [report.name],
  )
  return others.length === 0
}

export interface NewRowInsert extends StageInput {
  /** All columns that the service fills: asked, documented and discovered. */
  readonly tableColumns: readonly string[]
  readonly loadId: number
}

/** Writes the load's rows. Undefined: they are not all new, or not all fit; then nothing of this may stay. */
export async function insertNew(sql: Sql, parts: NewRowInsert): Promise<MergeCounts | undefined> {
  const { report, table, segment, tableColumns, loadId } = parts
  const { columns, sql: rowsSql } = await readRows(sql, parts)
  const target = `main.${name(table.name)}`
  const filled = names([...tableColumns, ...SYSTEM_COLUMNS.map((column) => column.name)])
  const rows = `(${rowsSql}) s WHERE s."~reason" IS NULL`
  await sql.rowsInOrder(
    `INSERT INTO ${target} (${filled}) ${freshSql({ report, table, tableColumns, loadId, knowsGone: false, columns, rows })}`,
  )
  const key = table.key.length === 1 ? names(table.key) : `(${names(table.key)})`
  const [found] = await sql.rows<{ keys: number; held: number; deleted: number }>(`
    SELECT count(DISTINCT ${key}) AS keys, count(*) FILTER (is_deleted) AS deleted, (
      SELECT count(*) FROM ${target} WHERE _load_id IS DISTINCT FROM ${loadId}
        AND ${key} IN (SELECT ${key} FROM ${target} WHERE _load_id = ${loadId})) AS held
    FROM ${target} WHERE _load_id = ${loadId}`)
  // A row that came twice or doesn't fit leaves fewer keys than rows were sent.
  if (found === undefined || found.keys !== segment.rows || found.held > 0) return undefined
  return { inserted: segment.rows, updated: 0, unchanged: 0, deleted: found.deleted }
}
