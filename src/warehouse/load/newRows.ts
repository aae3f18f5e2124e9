/** Inserts a load's rows without staging, in half the time. If a row is not new, the load is rolled back and staged. */
import { type Sql, name, names } from '../database/sql.ts'
import { type LoadCounts, NO_COUNTS } from './loadInput.ts'
import type { Reading } from './loading.ts'
import { insertRowsSql } from './merge.ts'
import { readRows, throwAsLoadRefused } from './stage.ts'

/** This error rolls the load back, because a row is not new or has a value that does not fit. */
export class NotAllNew extends Error {
  override readonly name = 'NotAllNew'
}

/** Returns true if all rows are probably new, because no row has items and all rows of earlier loads were new. */
export async function mayBeAllNew(sql: Sql, load: Reading): Promise<boolean> {
  const { report, segment } = load
  if (segment.rows === 0 || segment.rejected.length > 0 || segment.collections.length > 0) return false
  if (!onlyWrites(load)) return false
  const others = await sql.rows(
    'SELECT 1 FROM tidemark.loads WHERE report = $1 AND (rows <> inserted OR rejected > 0 OR misfits > 0) LIMIT 1',
    [report.name],
  )
  return others.length === 0
}

/** Any other load compares or counts rows, such as rows without a deletion flag, so it stages them first. */
function onlyWrites({ input, report: { deletedFlag: flag }, segment }: Reading): boolean {
  const { kind, previousRead, gone = [], followers = [] } = input
  if (kind === 'audit' || kind === 'reconcile' || kind === 'retry' || previousRead !== undefined) return false
  if (gone.length > 0 || followers.length > 0) return false
  return flag === undefined || segment.catalog.shapes.every((shape) => shape.includes(flag))
}

/** Inserts the load's rows. Throws `NotAllNew` if a row is not new or does not fit. */
export async function insertNew(sql: Sql, load: Reading & { readonly loadId: number }): Promise<LoadCounts> {
  const { table, segment, loadId } = load
  const target = `main.${name(table.name)}`
  const key = `(${names(table.key)})`
  const insert = async () => {
    const { columns, sql: rows } = await readRows(sql, load)
    const fitting = `(${rows}) s WHERE s."~reason" IS NULL AND s."~misfits" IS NULL`
    // `onlyWrites` was true, so no key is gone, and the table `gone_keys` does not exist.
    const noneGone = { ...load, input: { ...load.input, gone: undefined } }
    await sql.rowsInOrder(insertRowsSql(noneGone, { columns, rows: fitting }))
    return sql.rows<{ keys: number; held: number; deleted: number }>(`
      SELECT count(DISTINCT ${key}) AS keys, count(*) FILTER (is_deleted) AS deleted, (
        SELECT count(*) FROM ${target} WHERE _load_id IS DISTINCT FROM ${loadId}
          AND ${key} IN (SELECT ${key} FROM ${target} WHERE _load_id = ${loadId})) AS held
      FROM ${target} WHERE _load_id = ${loadId}`)
  }
  const [found] = await insert().catch(throwAsLoadRefused(load))
  // If a key is repeated, or a key does not fit its column, there are fewer keys than rows.
  if (found === undefined || found.keys !== segment.rows || found.held > 0) throw new NotAllNew()
  return { ...NO_COUNTS, inserted: segment.rows, deleted: found.deleted }
}
