/** Compares the rows that the service returned for a window with the readers' copy. */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import { countOf, onlyRow, type Sql, name, names, sameSql, text, time } from '../database/sql.ts'
import { ownKeySql, stampSql } from '../tables/tables.ts'

const KEYS_NAMED_MAX = 20

/** How many rows differ between the service and the copy, and the keys of up to `KEYS_NAMED_MAX` of them. */
export interface Deviation {
  readonly rows: number
  readonly keys: readonly string[]
}

export interface WindowComparison {
  readonly rows: number
  readonly missing: Deviation
  /** Rows whose values or deletion flag differ from the service, if they were not edited after the high-water mark. */
  readonly different: Deviation
  /** Rows of the published copy that were modified in the window, but that the service did not return. */
  readonly extra: Deviation
  /** False if the report has no modification time, because extra rows cannot be found then. */
  readonly seesExtra: boolean
  /** Number of rows in the published copy that were not returned and have no modification time. */
  readonly unmatched: number
  /** Number of rows in the published copy that are not deleted. */
  readonly held: number
}

export interface ComparedWindow {
  readonly report: Declaration
  readonly scope: string
  readonly since: Instant
  readonly until: Instant
  readonly mark: Instant
}

export const READER_COPY = 'held_by_readers'

export const attachSql = (file: string): string => `ATTACH ${text(file)} AS ${READER_COPY} (READ_ONLY)`

/** Compares the readers' copy with a database that contains only rows that the service returned for the window. */
export async function compareWindow(sql: Pick<Sql, 'rows'>, window: ComparedWindow): Promise<WindowComparison> {
  const { report, scope } = window
  const table = `main.${name(report.name)}`
  const copy = `${READER_COPY}.${table}`
  const inScope = (alias: string) => (scope === '' ? 'true' : `${alias}.target_currency = ${text(scope)}`)
  const same = sameSql(report.key, 'h', 's')
  const deviation = async (query: string): Promise<Deviation> => {
    const { rows, keys } = await onlyRow<{ rows: number; keys: string | null }>(
      sql,
      `SELECT count(*) AS rows, to_json(list(key)[1:${KEYS_NAMED_MAX}])::VARCHAR AS keys FROM (${query} ORDER BY 1)`,
    )
    return { rows, keys: JSON.parse(keys ?? '[]') as string[] }
  }
  const keyOf = (alias: string) => `concat_ws('/', ${names(report.key, alias)})`
  const stamp = stampSql(report, 'h')
  // The copy may lack edits that are newer than `window.mark`, so edited rows are not compared.
  const sentStamp = stampSql(report, 's') ?? 'NULL'
  const editedSince = `coalesce(${sentStamp} > ${time(window.mark)} AND coalesce(${sentStamp} > ${stamp ?? 'NULL'}, true), false)`
  const inWindow = `BETWEEN ${time(window.since)} AND ${time(window.until)}`
  // The service has returned rejected rows too, so they are not extra rows.
  const notSent = (rows: string) => `
    SELECT ${keyOf('h')} AS key FROM ${copy} h
    WHERE ${inScope('h')} AND NOT h.is_deleted AND ${rows} AND NOT EXISTS (FROM ${table} s WHERE ${same})
      AND NOT EXISTS (FROM tidemark.rejected_rows r WHERE r.report = ${text(report.name)} AND r.scope = ${text(scope)}
        AND r.key = ${ownKeySql(report, 'h')})`
  const sent = `SELECT * FROM ${table} s WHERE ${inScope('s')}`
  return {
    rows: await countOf(sql, `${table} s WHERE ${inScope('s')}`),
    missing: await deviation(
      `SELECT ${keyOf('s')} AS key FROM (${sent}) s WHERE NOT EXISTS (FROM ${copy} h WHERE ${same})`,
    ),
    different: await deviation(`
      SELECT ${keyOf('s')} AS key FROM (${sent}) s JOIN ${copy} h ON ${same}
      WHERE (h._row_hash IS DISTINCT FROM s._row_hash OR h.is_deleted <> s.is_deleted) AND NOT ${editedSince}`),
    extra: await deviation(notSent(stamp === undefined ? 'false' : `${stamp} ${inWindow}`)),
    seesExtra: stamp !== undefined,
    unmatched: (await deviation(notSent(stamp === undefined ? 'true' : `${stamp} IS NULL`))).rows,
    held: await countOf(sql, `${copy} h WHERE ${inScope('h')} AND NOT h.is_deleted`),
  }
}
