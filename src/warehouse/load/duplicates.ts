/** Keeps the newest row of each key in `staged`. Earlier rows with additional fields are merged first (contract §4). */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportTable } from '../../../schema/tables.ts'
import { countOf, type Sql, name } from '../database/sql.ts'
import { newestOfKeySql } from './rowVersion.ts'
import type { StagedColumn } from './fieldSql.ts'

/** A temporary table like `staged` with at most one row per key. It is merged before `staged`. */
export interface EarlierRows {
  readonly table: string
  readonly rows: number
}

export interface DuplicateSearch {
  readonly report: Declaration
  readonly table: ReportTable
  readonly columns: readonly StagedColumn[]
  readonly shapes: readonly (readonly string[])[]
  readonly settleMs: number
}

/** Keeps one row per key in `staged`. Returns the tables of earlier rows to merge before `staged`, oldest first. */
export async function splitDuplicates(sql: Sql, parts: DuplicateSearch): Promise<EarlierRows[]> {
  const { report, table, shapes, settleMs } = parts
  const columns = parts.columns.map((column) => column.name)
  const earlier: string[] = []
  // This loop ends, because each new table has fewer rows of each key than the table from which it is filled.
  for (let from = 'staged'; ; from = earlier[0] as string) {
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE newest AS SELECT tid FROM (${newestOfKeySql(report, table, { columns, from, settleMs })}) n(tid)`)
    const isNewest = 'rowid IN (SELECT tid FROM newest)'
    const same = table.key.map((column) => `o.${name(column)} = n.${name(column)}`).join(' AND ')
    const pairs = `${from} o JOIN ${from} n ON ${same} WHERE n.${isNewest} AND NOT o.${isNewest}`
    const met = await shapesWithMoreFields(sql, shapes, pairs)
    if (met.length > 0) {
      earlier.unshift(`earlier_${earlier.length + 1}`)
      await sql.run(`
        CREATE OR REPLACE TEMP TABLE ${earlier[0]} AS
        SELECT o.* FROM ${pairs} AND (o."~shape", n."~shape") IN (${met.join(', ')})`)
    }
    await sql.run(`DELETE FROM ${from} WHERE NOT ${isNewest}`)
    if (met.length === 0) break
  }
  await sql.run('DROP TABLE newest')
  return Promise.all(earlier.map(async (each) => ({ table: each, rows: await countOf(sql, each) })))
}

/** Returns SQL pairs of shape numbers. In `(2, 0)`, an earlier row of shape 2 has a field that shape 0 lacks. */
async function shapesWithMoreFields(sql: Sql, shapes: DuplicateSearch['shapes'], pairs: string): Promise<string[]> {
  if (shapes.length === 1) return []
  const met = await sql.rows<{ older: number; newer: number }>(
    `SELECT DISTINCT o."~shape" AS older, n."~shape" AS newer FROM ${pairs}`,
  )
  return met.flatMap(({ older, newer }) =>
    hasMoreFields(shapes[older], shapes[newer]) ? [`(${older}, ${newer})`] : [],
  )
}

function hasMoreFields(older: readonly string[] = [], newer: readonly string[] = []): boolean {
  const known = new Set(newer)
  return older.some((field) => !known.has(field))
}

const renameSql = (table: string, to: string): string => `ALTER TABLE temp.main.${table} RENAME TO ${to}`

/** Runs `merge` for each earlier table, oldest first, and then for `staged`. Each table is named `staged` meanwhile. */
export async function mergeInOrder<T>(
  sql: Sql,
  { earlier, rows }: { readonly earlier: readonly EarlierRows[]; readonly rows: number },
  merge: (rows: number) => Promise<T>,
): Promise<T[]> {
  const merged: T[] = []
  for (const each of earlier) {
    await sql.run(`${renameSql('staged', 'newest')}; ${renameSql(each.table, 'staged')}`)
    merged.push(await merge(each.rows))
    await sql.run(`DROP TABLE temp.main.staged; ${renameSql('newest', 'staged')}`)
  }
  return [...merged, await merge(rows)]
}
