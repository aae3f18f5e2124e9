/** Marks stored rows as deleted if the service no longer returns them (product contract §4). */
import type { Declaration } from '../../../schema/report.ts'
import { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { nextLoadId } from '../books/windows.ts'
import { countOf, type Sql, name, text, time } from '../database/sql.ts'
import { historyStartOf, recordReplaced } from '../tables/versions.ts'
import { heldRowsSql, partSql, type ReportPart, storedKeySql } from './reportPart.ts'

export interface Deletion {
  readonly report: Declaration
  readonly runId: string
  /** When the comparison started: the service's time, in whole seconds like `_observed_at`. */
  readonly startedAt: Instant
  readonly now: Instant
}

/** Fills the table `absent` with missing rows. `again` is true if an earlier comparison also missed the row. */
export async function findAbsent(sql: Sql, place: ReportPart & Pick<Deletion, 'startedAt'>, isAbsent: string) {
  const key = storedKeySql(place)
  const startedAt = time(place.startedAt)
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE absent AS
    SELECT t.rowid AS tid, ${key} AS key, ${key} IN (SELECT key FROM tidemark.absences
      WHERE ${partSql(place)} AND coalesce(again_from <= ${startedAt}, true)) AS again
    FROM ${heldRowsSql(place)} AND t._observed_at < ${startedAt} AND ${isAbsent}`)
  return {
    absent: await countOf(sql, 'absent WHERE NOT again'),
    deleted: await countOf(sql, 'absent WHERE again'),
    held: await countOf(sql, heldRowsSql(place)),
  }
}

/** Share of rows that one reconcile may mark as deleted without permission. */
const DELETED_SHARE_MAX = 0.1
const DELETED_ROWS_ALLOWED = 10
const KEPT_SHARE_MIN = 0.5

export function checkBrake(report: string, deleted: number, live: number): void {
  const isFew = deleted <= DELETED_ROWS_ALLOWED && deleted <= Math.max(1, live * (1 - KEPT_SHARE_MIN))
  if (isFew || deleted <= live * DELETED_SHARE_MAX) return
  throw new SyncError('MASS_DELETE_STOPPED', `${deleted} of ${live} rows would be marked as deleted at once`, {
    report,
    cure: `If the rows were really deleted at the service, run "tidemark reconcile ${report} --allow-mass-delete". If not, check the filters and permissions of this client. Nothing was marked.`,
    data: { deleted, live },
  })
}

/** Marks rows as deleted that two comparisons missed: `again` in the table `absent`, which the caller fills first. */
export async function markAbsent(sql: Sql, deletion: Deletion, deleted: number): Promise<void> {
  const { report, startedAt } = deletion
  const loadId = await nextLoadId(sql)
  await recordDeletions(sql, deletion, { loadId, deleted })
  if (deleted === 0) return
  const target = `main.${name(report.name)}`
  await recordReplaced(sql, await historyStartOf(sql, report.name), {
    table: report.name,
    key: report.key,
    loadId,
    rows: `SELECT tid, ${time(startedAt)} AS until FROM absent WHERE again`,
  })
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE gone_rows AS
    SELECT t.* REPLACE (true AS is_deleted, 'absence' AS _delete_evidence, ${time(startedAt)} AS _deleted_seen_at,
      ${time(startedAt)} AS _observed_at, ${loadId}::BIGINT AS _load_id)
    FROM ${target} t WHERE t.rowid IN (SELECT tid FROM absent WHERE again);
    DELETE FROM ${target} WHERE rowid IN (SELECT tid FROM absent WHERE again);
    INSERT INTO ${target} BY NAME SELECT * FROM gone_rows;
    DROP TABLE gone_rows`)
}

export async function recordDeletions(sql: Sql, deletion: Deletion, load: { loadId: number; deleted: number }) {
  const { report, runId, startedAt, now } = deletion
  await sql.run(`
    INSERT INTO tidemark.loads VALUES (${load.loadId}, ${text(runId)}, ${text(report.name)}, ${time(now)},
      0, 0, 0, 0, ${load.deleted}, 0, 0, 0, NULL, NULL, ${time(startedAt)}, NULL, 0)`)
}
