/** A part of a report, and SQL for the stored rows of the part and their keys. */
import type { Declaration } from '../../../schema/report.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import { Kind } from '../../plan/kinds.ts'
import { name, names, text } from '../database/sql.ts'
import { ownKeySql } from '../tables/tables.ts'
import { castOf } from './casts.ts'
import type { RowKeys } from './loadInput.ts'

/** A report, or the part of a report with one currency. */
export interface ReportPart {
  readonly report: Declaration
  readonly scope: string
}

export const partSql = ({ report, scope }: ReportPart): string =>
  `report = ${text(report.name)} AND scope = ${text(scope)}`

export const storedRowsSql = ({ report, scope }: ReportPart): string =>
  `main.${name(report.name)} t WHERE ${scope === '' ? 'true' : `t.target_currency = ${text(scope)}`}`

export const heldRowsSql = (place: ReportPart): string => `${storedRowsSql(place)} AND NOT t.is_deleted`

export const storedKeySql = ({ report }: Pick<ReportPart, 'report'>): string => ownKeySql(report, 't')

/** Returns the key column that is in the row. The other key columns are parameters of the request. */
export function keyColumn(report: Declaration): string {
  const asked = new Set(tableOf(report).asked.map((column) => column.name))
  return report.key.find((column) => !asked.has(column)) ?? ''
}

/** Returns SQL that writes keys to a temporary table. `~stamp`: NULL for all versions of a key, infinity for none. */
export function keysTableSql({ key, fields, asked }: ReportTable, into: string, keys: RowKeys): string {
  const columns = key.map((column) => {
    const fromRequest = asked.find((each) => each.name === column)
    if (fromRequest !== undefined) return `${name(column)}::${fromRequest.type} AS ${name(column)}`
    const type = fields.find((each) => each.name === column)?.type ?? 'VARCHAR'
    return `${castOf(sentText(name(column)), type, Kind.text)} AS ${name(column)}`
  })
  const values = keys.map((each) => `(${[...key, '~stamp'].map((_, n) => literal(each[n])).join(', ')})`)
  const stamp = `CASE WHEN "~stamp" IS NOT NULL THEN coalesce(${castOf('"~stamp"', 'TIMESTAMPTZ', Kind.text)}, 'infinity') END`
  const nothing = `(SELECT ${[...key, '~stamp'].map(() => 'NULL::VARCHAR').join(', ')})`
  const given = values.length === 0 ? nothing : `(VALUES ${values.join(', ')})`
  return `
    CREATE OR REPLACE TEMP TABLE ${into} AS
    FROM (SELECT ${columns.join(', ')}, ${stamp} AS "~stamp" FROM ${given} g(${names(key)}, "~stamp"))
    WHERE ${key.map((column) => `${name(column)} IS NOT NULL`).join(' AND ')};`
}

const literal = (value: string | number | undefined): string => (value === undefined ? 'NULL' : text(String(value)))

const sentText = (value: string): string =>
  `CASE WHEN starts_with(${value}, '"') THEN try_cast(${value} AS JSON) ->> '$' ELSE ${value} END`
