/** Decides which of two versions of a row is newer (product contract §4). */
import type { Declaration } from '../../../schema/report.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { countOf, names, sameSql, type Sql } from '../database/sql.ts'
import { stampSql } from '../tables/tables.ts'
import type { FileLoad, StagedColumn, StagedRows } from './loadSteps.ts'

export interface RowNames {
  readonly alias: string
  readonly observedAt: string
}

export interface RowSide extends RowNames {
  /** SQL for the earliest time at which this version could have been requested. */
  readonly askedAt: string
  readonly columns: readonly string[]
}

/** Returns SQL for the modification time, or the observation time if the former is missing or later. */
export function versionOf(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampSql(report, names.alias, columns)
  if (stamp === undefined) return names.observedAt
  return `CASE WHEN ${stamp} <= ${observableUntil(names)} THEN ${stamp} ELSE ${names.observedAt} END`
}

/** Returns SQL that is true if `one` was requested more than `settleMs` after `other`. */
export const isLaterSql = (one: Pick<RowSide, 'askedAt'>, other: RowNames, settleMs: number): string =>
  `${one.askedAt} > ${other.observedAt} + INTERVAL ${settleMs + CLOCK_GRAIN_MS} MILLISECONDS`

/** Returns SQL that is true if the first row is newer. With `>=`, also if both have the same times. */
export function isNewerSql(report: Declaration, sides: readonly [RowSide, RowSide], newer: '>' | '>='): string {
  const [one, other] = sides
  const [ones, others] = sides.map((side) => versionOf(report, side.columns, side))
  const versions = `(${ones}, ${one.observedAt}) ${newer} (${others}, ${other.observedAt})`
  const isWrong = sides.map((side) => isStampedAhead(report, side.columns, side)).join(' OR ')
  return `CASE WHEN ${isWrong} THEN ${one.observedAt} ${newer} ${other.observedAt} ELSE ${versions} END`
}

function newestOfKeySql({ report, table, rules: { settleMs } }: FileLoad, columns: string[], from: string): string {
  const row = { alias: 'staged', observedAt: '"~observed_at"' }
  const key = names(table.key)
  // No field begins with ~, so no column can hide the alias `~is_wrong`.
  return `
    SELECT arg_max(tid, (NOT "~is_wrong", version, "~observed_at", "~ordinal")) FROM (
      SELECT rowid AS tid, ${key}, "~observed_at", "~ordinal",
        ${isStampedAhead(report, columns, row)} AS "~is_wrong", ${versionOf(report, columns, row)} AS version,
        max(CASE WHEN "~is_wrong" THEN ("~observed_at", "~ordinal") END) OVER (PARTITION BY ${key}) AS last_wrong,
        max("~asked_at") OVER (PARTITION BY ${key}) AS last_asked
      FROM ${from} AS staged
    ) WHERE NOT (${isLaterSql({ askedAt: 'last_asked' }, { alias: '', observedAt: '"~observed_at"' }, settleMs)})
      AND (last_wrong IS NULL OR ("~observed_at", "~ordinal") >= last_wrong)
    GROUP BY ${key}`
}

/** Returns SQL that is true if the modification time is wrong, because it is later than the observation. */
function isStampedAhead(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampSql(report, names.alias, columns)
  return stamp === undefined ? 'false' : `coalesce(${stamp} > ${observableUntil(names)}, false)`
}

const observableUntil = ({ observedAt }: RowNames): string => `${observedAt} + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`

/** Keeps the newest row of each key. Returns tables of older rows, oldest first, which must be merged before it. */
export async function splitDuplicates(sql: Sql, load: FileLoad, staged: readonly StagedColumn[]) {
  const columns = staged.map((column) => column.name)
  const earlier: string[] = []
  // The loop ends because each pass removes one row of each key, so that no rows are left.
  for (let from = 'staged'; ; from = earlier[0] as string) {
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE newest AS SELECT tid FROM (${newestOfKeySql(load, columns, from)}) n(tid)`)
    const isNewest = 'rowid IN (SELECT tid FROM newest)'
    const same = sameSql(load.table.key, 'o', 'n')
    const pairs = `${from} o JOIN ${from} n ON ${same} WHERE n.${isNewest} AND NOT o.${isNewest}`
    const met = await shapesWithMoreFields(sql, load.segment.catalog.shapes, pairs)
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

type Shapes = FileLoad['segment']['catalog']['shapes']

/** Returns pairs of row shapes (sets of fields) in which the older shape has a field that the newer one lacks. */
async function shapesWithMoreFields(sql: Sql, shapes: Shapes, pairs: string): Promise<string[]> {
  if (shapes.length === 1) return []
  const met = await sql.rows<{ older: number; newer: number }>(
    `SELECT DISTINCT o."~shape" AS older, n."~shape" AS newer FROM ${pairs}`,
  )
  const richer = met.filter(({ older, newer }) => {
    const known = new Set(shapes[newer])
    return shapes[older]?.some((field) => !known.has(field))
  })
  return richer.map(({ older, newer }) => `(${older}, ${newer})`)
}

const renameSql = (table: string, to: string): string => `ALTER TABLE temp.main.${table} RENAME TO ${to}`

/** Runs `merge` for each table of older row versions, oldest first, and then for `staged`. */
export async function mergeInOrder<T>(sql: Sql, staged: StagedRows, merge: (rows: number) => Promise<T>) {
  const { earlier, rows } = staged
  const merged: T[] = []
  for (const each of earlier) {
    await sql.run(`${renameSql('staged', 'newest')}; ${renameSql(each.table, 'staged')}`)
    merged.push(await merge(each.rows))
    await sql.run(`DROP TABLE temp.main.staged; ${renameSql('newest', 'staged')}`)
  }
  return [...merged, await merge(rows)]
}
