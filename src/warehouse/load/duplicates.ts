/**
 * Rows of one key in one load, as they come when a walk is repeated. The newest of them stands in `staged`. One before
 * it is still needed where it carries fields or collections that the newest doesn't: those are unknown there and keep
 * what was sent last (product contract §4). Such rows stand in tables of their own, to be merged first.
 */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportTable } from '../../../schema/tables.ts'
import type { Sql } from '../database/duckdb.ts'
import { newestOfKeySql } from './rowVersion.ts'
import type { StagedColumn } from './fieldSql.ts'
import { name, names } from '../database/sqlText.ts'

/** Rows that come before those of `staged`, at most one a key, in a temporary table of the same columns. */
export interface Earlier {
  readonly table: string
  readonly rows: number
}

export interface DuplicateSearch {
  readonly report: Declaration
  readonly table: ReportTable
  readonly columns: readonly StagedColumn[]
  /** Shape number → the fields that such a row carries. */
  readonly shapes: readonly (readonly string[])[]
}

/** Leaves one row a key in `staged`; gives what has to be merged before it, oldest first. */
export async function splitDuplicates(sql: Sql, parts: DuplicateSearch): Promise<Earlier[]> {
  const { report, table, shapes } = parts
  const columns = parts.columns.map((column) => column.name)
  const earlier: string[] = []
  const key = names(table.key)
  const [counted] = await sql.rows<{ extra: number }>(
    `SELECT count(*) - count(DISTINCT ${table.key.length === 1 ? key : `(${key})`}) AS extra FROM staged`,
  )
  if (counted === undefined || counted.extra === 0) return []
  // Each round takes a row of every key that is left, so it ends.
  for (let from = 'staged'; ; from = earlier[0] as string) {
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE newest AS SELECT tid FROM (${newestOfKeySql(report, table, { columns, from })}) n(tid)`)
    const isNewest = 'rowid IN (SELECT tid FROM newest)'
    const same = table.key.map((column) => `o.${name(column)} = n.${name(column)}`).join(' AND ')
    const pairs = `${from} o JOIN ${from} n ON ${same} WHERE n.${isNewest} AND NOT o.${isNewest}`
    const met = await metShapes(sql, shapes, pairs)
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
  return Promise.all(earlier.map((each) => counting(sql, each)))
}

async function counting(sql: Sql, table: string): Promise<Earlier> {
  const [counted] = await sql.rows<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`)
  return { table, rows: counted?.rows ?? 0 }
}

/** Pairs of shapes, of a row and the newest of its key, where the first carries what the second doesn't. */
async function metShapes(sql: Sql, shapes: DuplicateSearch['shapes'], pairs: string): Promise<string[]> {
  if (shapes.length === 1) return []
  const met = await sql.rows<{ older: number; newer: number }>(
    `SELECT DISTINCT o."~shape" AS older, n."~shape" AS newer FROM ${pairs}`,
  )
  return met.flatMap(({ older, newer }) => (carriesMore(shapes[older], shapes[newer]) ? [`(${older}, ${newer})`] : []))
}

function carriesMore(older: readonly string[] = [], newer: readonly string[] = []): boolean {
  const known = new Set(newer)
  return older.some((field) => !known.has(field))
}

const renamed = (table: string, to: string): string => `ALTER TABLE temp.main.${table} RENAME TO ${to}`

/** Runs `merge` with each of the tables in the place of `staged`, oldest first, then with `staged` itself. */
export async function oneAfterTheOther<T>(
  sql: Sql,
  { earlier, rows }: { readonly earlier: readonly Earlier[]; readonly rows: number },
  merge: (rows: number) => Promise<T>,
): Promise<T[]> {
  const merged: T[] = []
  for (const each of earlier) {
    await sql.run(`${renamed('staged', 'newest')}; ${renamed(each.table, 'staged')}`)
    merged.push(await merge(each.rows))
    await sql.run(`DROP TABLE temp.main.staged; ${renamed('newest', 'staged')}`)
  }
  return [...merged, await merge(rows)]
}
