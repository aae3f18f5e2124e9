/** Changes the type of a discovered column (`tidemark schema --retype`). */
import { type ReportName, reports } from '../../../schema/index.ts'
import { type DuckType, type ReportTable, tableOf } from '../../../schema/tables.ts'
import type { ColumnType } from '../../../schema/values.ts'
import { usageError } from '../../errors.ts'
import type { DiscoveredColumn } from '../../plan/columns.ts'
import { SCALARS } from '../../plan/kinds.ts'
import { restartFeed } from '../books/changeFeed.ts'
import { countOf, type Sql, name, names, pointer, text } from '../database/sql.ts'
import { childColumns, discoveredColumns, reportColumns, retype } from '../tables/tables.ts'
import { closedName, hadHistory } from '../tables/versions.ts'
import { castOf, computeOnce, isNestedSql, markedJson, memberOf, misfits, roundsSql, unmarkedJson } from './casts.ts'
import { reasonFor } from './misfits.ts'

export interface RetypeRequest {
  readonly column: string
  readonly type: ColumnType
  readonly excludesPayload: (report: ReportName) => boolean
}

export interface RetypedColumn {
  readonly column: string
  readonly from: string
  readonly to: string
  readonly values: number
  readonly fitted: number
  readonly misfits: number
}

/** Changes a column's type in the caller's transaction. Throws USAGE_INVALID if values would be lost. */
export async function retypeColumn(sql: Sql, numberPrefix: string, request: RetypeRequest): Promise<RetypedColumn> {
  const { type } = request
  const found = await findColumn(sql, request)
  const { report, target, column, isChild } = found
  const keeps = isChild ? '_payload IS NOT NULL' : `${!request.excludesPayload(report)}`
  const reading: ColumnReading = { ...found, type, keeps, json: isChild ? '_payload' : '_extra', numberPrefix }
  const places = [`main.${name(target)}`]
  if (await hadHistory(sql, report)) places.push(`history.${name(closedName(target))}`)
  for (const [n, place] of places.entries()) {
    await sql.run(rereadSql(reading, place, `reread_${n}`))
    const lost = await countOf(sql, `reread_${n} WHERE is_misfit AND NOT is_kept`)
    if (lost > 0)
      throw usageError(
        `${request.column}: values (${lost}) would be lost: ${reasonFor(type)}. The rows are stored without _extra and _payload (exclude_payload)`,
        'Nothing was changed. Choose a type that takes every value, such as VARCHAR.',
      )
  }
  const newValue = (stored: string) =>
    computeOnce(sentSql(reading, stored), 's', (sent) => readingSql(sent, type).value)
  await retype(sql, { report, table: target, newValue }, [{ ...column, type }])
  if (!isChild) for (const [n, place] of places.entries()) await sql.run(newExtraSql(reading, place, `reread_${n}`))
  const isListed = isChild ? 'is_misfit AND is_sent' : 'is_misfit'
  await sql.run(replaceMisfitsSql(reading, isListed))
  const counted = {
    values: await countOf(sql, `main.${name(target)} WHERE ${name(column.name)} IS NOT NULL`),
    fitted: await countOf(sql, 'reread_0 WHERE was_null AND fits'),
    misfits: await countOf(sql, `reread_0 WHERE ${isListed}`),
  }
  await restartFeed(sql, report, `the type of ${request.column} was changed`)
  await sql.run(places.map((_, n) => `DROP TABLE reread_${n};`).join(' '))
  return { column: request.column, from: column.type, to: type, ...counted }
}

async function findColumn(sql: Sql, { column: asked, type }: RetypeRequest) {
  const [target = '', ...rest] = asked.split('.')
  const wanted = rest.join('.')
  const report = reports.find(({ name: own }) => own === target.split('__')[0])
  const table = report && tableOf(report)
  const list = 'Run "tidemark schema": it prints the tables and their columns.'
  if (report === undefined || table === undefined || ![table, ...table.children].some((each) => each.name === target))
    throw usageError(`there is no table ${target}`, list)
  const isChild = target !== table.name
  const fixed = isChild ? childColumns(table) : reportColumns(table)
  if (fixed.some((each) => each.name === wanted)) {
    const cure = 'Only columns of undocumented fields can have another type: tidemark.columns lists them.'
    throw usageError(`the type of ${asked} is fixed: it is a documented, key or system column`, cure)
  }
  const column = (await discoveredColumns(sql)).get(target)?.find((each) => each.name === wanted)
  if (column === undefined) throw usageError(`there is no column ${asked}`, list)
  if (column.type === type) throw usageError(`the type of ${asked} is ${type} already`, 'Nothing needs to be done.')
  return { report: report.name, table, target, isChild, column }
}

interface ColumnReading {
  readonly table: ReportTable
  readonly target: string
  readonly isChild: boolean
  readonly column: DiscoveredColumn
  readonly type: ColumnType
  /** SQL that is true if the row can keep a misfit in `json`. */
  readonly keeps: string
  /** The column with the original JSON: `_extra` or, in a child table, `_payload`. */
  readonly json: string
  readonly numberPrefix: string
}

function rereadSql(reading: ColumnReading, place: string, reread: string): string {
  const { table, isChild, column, type, keeps, json } = reading
  const { value, isMisfit, isRounded } = readingSql('sent', type)
  const key = names([...table.key, ...(isChild ? ['_child_key'] : [])])
  return `
    CREATE OR REPLACE TEMP TABLE ${reread} AS
    SELECT *, is_misfit OR is_rounded AS stays FROM (
      SELECT *, ${isMisfit} AS is_misfit, ${isRounded} AS is_rounded, ${value} IS NOT NULL AS fits FROM (
        SELECT rowid AS tid, concat_ws(':', ${key}) AS key, _observed_at AS seen, _load_id AS load_id, ${keeps} AS is_kept,
          ${name(column.name)} IS NULL AS was_null, _delete_evidence IS DISTINCT FROM 'absence' AS is_sent,
          ${isChild ? 'false' : `json_exists(${json}, ${pointer(column.field)})`} AS is_in_json,
          ${sentSql(reading, name(column.name))} AS sent
        FROM ${place}))
    WHERE sent IS NOT NULL AND (was_null OR stays OR is_in_json)`
}

function sentSql({ column, json, numberPrefix }: ColumnReading, stored: string): string {
  const at = pointer(column.field)
  // DuckDB's `->` converts decimals and very long integers to doubles.
  const member = `CASE WHEN json_type(${json}, ${at}) IN ('NULL', 'VARCHAR', 'BOOLEAN', 'BIGINT', 'UBIGINT') THEN nullif((${json} -> ${at})::VARCHAR, 'null')
    WHEN json_exists(${json}, ${at}) THEN ${memberOf(json, column.field, numberPrefix)}::VARCHAR END`
  return `coalesce(${member}, ${storedAsJson(stored, column.type)})`
}

function readingSql(sent: string, type: ColumnType) {
  const scalar = `CASE WHEN starts_with(${sent}, '"') THEN json_extract_string(${sent}, '$') WHEN NOT ${isNestedSql(sent)} THEN ${sent} END`
  const ofScalar = (sql: (value: string) => string) => computeOnce(scalar, 'v', sql)
  return {
    value: ofScalar((value) => castOf(value, type, SCALARS)),
    isMisfit: `(${isNestedSql(sent)} OR coalesce(${ofScalar((value) => misfits(value, type, SCALARS))}, false))`,
    isRounded: `coalesce(${ofScalar((value) => roundsSql(value, type, SCALARS) ?? 'false')}, false)`,
  }
}

const withoutZeros = (value: string): string => `regexp_replace(${value}, '[.]?0+$', '')`

function storedAsJson(stored: string, type: DuckType): string {
  if (type === 'TIMESTAMPTZ')
    return `to_json(${withoutZeros(`strftime(make_timestamp(epoch_us(${stored})), '%Y-%m-%dT%H:%M:%S.%f')`)} || 'Z')::VARCHAR`
  if (type === 'DECIMAL(38,9)') return withoutZeros(`${stored}::VARCHAR`)
  return type === 'VARCHAR' || type === 'DATE' ? `to_json(${stored}::VARCHAR)::VARCHAR` : `${stored}::VARCHAR`
}

function newExtraSql({ column, numberPrefix }: ColumnReading, place: string, reread: string): string {
  const without = `json_merge_patch(${markedJson('t._extra', numberPrefix)}, ${text(JSON.stringify({ [column.field]: null }))}::JSON)`
  const others = `coalesce(${unmarkedJson(without, numberPrefix)}, '{}')`
  const field = `CASE WHEN r.stays AND r.is_kept THEN ${text(`${JSON.stringify(column.field)}:`)} || r.sent END`
  return `
    UPDATE ${place} t
    SET _extra = nullif('{' || concat_ws(',', nullif(left(substr(${others}, 2), -1), ''), ${field}) || '}', '{}')::JSON
    FROM ${reread} r WHERE r.tid = t.rowid AND (r.stays OR r.is_in_json)`
}

/** Misfits without a value are not tested again, because `exclude_payload` has removed their values. */
function replaceMisfitsSql({ table, target, column, type }: ColumnReading, isListed: string): string {
  const ofColumn = `"table" = ${text(target)} AND "column" = ${text(column.name)} AND value IS NOT NULL`
  return `
    CREATE OR REPLACE TEMP TABLE old_misfits AS SELECT * FROM tidemark.misfits WHERE ${ofColumn};
    DELETE FROM tidemark.misfits WHERE ${ofColumn};
    INSERT INTO tidemark.misfits
    SELECT ${text(table.name)}, ${text(target)}, ${text(column.name)}, r.key, r.sent, ${text(reasonFor(type))},
      coalesce(o.first_seen, r.seen), greatest(o.last_seen, r.seen), r.load_id
    FROM reread_0 r LEFT JOIN old_misfits o USING (key) WHERE ${isListed};
    DROP TABLE old_misfits`
}
