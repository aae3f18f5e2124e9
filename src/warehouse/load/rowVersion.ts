/** Builds SQL that decides which of two versions of a row is newer (product contract §4). */
import type { Declaration } from '../../../schema/report.ts'
import type { ReportTable } from '../../../schema/tables.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { names } from '../database/sql.ts'
import { stampSql } from '../tables/tables.ts'

export interface RowNames {
  readonly alias: string
  readonly observedAt: string
}

export interface RowSide extends RowNames {
  /** SQL for the earliest time at which this version can have been requested. */
  readonly askedAt: string
  readonly columns: readonly string[]
}

/** Returns SQL for a row's modification time. If that time is in the future, the SQL uses the time of observation. */
export function versionOf(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampSql(report, names.alias, columns)
  if (stamp === undefined) return names.observedAt
  return `CASE WHEN ${stamp} <= ${observableUntil(names)} THEN ${stamp} ELSE ${names.observedAt} END`
}

/** Returns the SQL condition that `one` was requested more than `settleMs` after `other`. So `one` is newer. */
export const isLaterSql = (one: Pick<RowSide, 'askedAt'>, other: RowNames, settleMs: number): string =>
  `${one.askedAt} > ${other.observedAt} + INTERVAL ${settleMs + CLOCK_GRAIN_MS} MILLISECONDS`

/** Returns the SQL condition that `one` is newer. With equal times, `one` is newer, unless `keepsStored` is true. */
export function isNewerSql(
  report: Declaration,
  one: Omit<RowSide, 'askedAt'>,
  { other, keepsStored }: { other: Omit<RowSide, 'askedAt'>; keepsStored: boolean },
): string {
  const newer = keepsStored ? '>' : '>='
  const [ones, others] = [one, other].map((side) => versionOf(report, side.columns, side))
  const versions = `(${ones}, ${one.observedAt}) ${newer} (${others}, ${other.observedAt})`
  const isWrong = [one, other].map((side) => isStampedAhead(report, side.columns, side)).join(' OR ')
  return `CASE WHEN ${isWrong} THEN ${one.observedAt} ${newer} ${other.observedAt} ELSE ${versions} END`
}

export function newestOfKeySql(
  report: Declaration,
  table: Pick<ReportTable, 'key'>,
  { columns, from, settleMs }: Pick<RowSide, 'columns'> & { readonly from: string; readonly settleMs: number },
): string {
  const row = { alias: 'staged', observedAt: '"~observed_at"' }
  const key = names(table.key)
  // DuckDB prefers a column to an alias of the same name. No field begins with ~, so the aliases begin with ~.
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

/** Returns the SQL condition that a stamp (modification time) is wrong, because it is later than the observation. */
function isStampedAhead(report: Declaration, columns: readonly string[], names: RowNames): string {
  const stamp = stampSql(report, names.alias, columns)
  return stamp === undefined ? 'false' : `coalesce(${stamp} > ${observableUntil(names)}, false)`
}

const observableUntil = ({ observedAt }: RowNames): string => `${observedAt} + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`
