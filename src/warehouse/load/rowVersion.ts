/**
 * Which of two versions of a row is newer (product contract §4), said in this one place: for a row that meets the one
 * that is held, and for rows of one key in one load. The row's own stamp decides, then the time of observation. A stamp
 * later than its own observation is wrong: it says nothing of what came before or after, so beside such a row the time
 * of observation decides alone.
 */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportTable } from '../../../schema/tables.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { name, names } from '../database/sqlText.ts'

export interface RowNames {
  readonly alias: string
  /** Expression of the row's observation time. */
  readonly observedAt: string
}

/** A row, and which columns it has. */
export interface RowSide extends RowNames {
  readonly columns: readonly string[]
}

/** The version of a row: its own stamp, but never later than it was observed, so that a wrong stamp can't freeze it. */
export function versionOf(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampOf(report, columns, names)
  if (stamp === undefined) return names.observedAt
  return `CASE WHEN ${stamp} <= ${observableUntil(names)} THEN ${stamp} ELSE ${names.observedAt} END`
}

/** Condition: `one` is newer than `other`, or, unless it `yields`, as new. */
export function isNewerSql(report: Declaration, one: RowSide, { other, yields }: { other: RowSide; yields: boolean }) {
  const newer = yields ? '>' : '>='
  const [ones, others] = [one, other].map((side) => versionOf(report, side.columns, side))
  const versions = `(${ones}, ${one.observedAt}) ${newer} (${others}, ${other.observedAt})`
  const isWrong = [one, other].map((side) => isStampedAhead(report, side.columns, side)).join(' OR ')
  return `CASE WHEN ${isWrong} THEN ${one.observedAt} ${newer} ${other.observedAt} ELSE ${versions} END`
}

/**
 * Query of the `rowid` of the staged row of each key that is left when they meet one after the other, in the order of
 * their observation: a row with a wrong stamp takes the place of all before it and gives way to the next one, and from
 * there on the newest version stays.
 */
export function newestOfKeySql(
  report: Declaration,
  table: Pick<ReportTable, 'key'>,
  { columns, from = 'staged' }: Pick<RowSide, 'columns'> & { readonly from?: string },
): string {
  const row = { alias: 'staged', observedAt: '"~observed_at"' }
  const key = names(table.key)
  // A name without a table is looked for in `staged` first, where the service's fields are: theirs have no ~.
  return `
    SELECT arg_max(tid, (NOT "~is_wrong", version, "~observed_at", "~ordinal")) FROM (
      SELECT rowid AS tid, ${key}, "~observed_at", "~ordinal",
        ${isStampedAhead(report, columns, row)} AS "~is_wrong", ${versionOf(report, columns, row)} AS version,
        max(CASE WHEN "~is_wrong" THEN ("~observed_at", "~ordinal") END) OVER (PARTITION BY ${key}) AS last_wrong
      FROM ${from} AS staged
    ) WHERE last_wrong IS NULL OR ("~observed_at", "~ordinal") >= last_wrong
    GROUP BY ${key}`
}

/** Whether a row's stamp lies behind its observation. */
function isStampedAhead(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampOf(report, columns, names)
  return stamp === undefined ? 'false' : `coalesce(${stamp} > ${observableUntil(names)}, false)`
}

const observableUntil = ({ observedAt }: RowNames): string => `${observedAt} + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`

function stampOf(report: Declaration, columns: readonly string[], { alias }: RowNames): string | undefined {
  const stamps = report.newerBy.filter((column) => columns.includes(column)).map((column) => `${alias}.${name(column)}`)
  return stamps.length > 1 ? `coalesce(${stamps.join(', ')})` : stamps[0]
}
