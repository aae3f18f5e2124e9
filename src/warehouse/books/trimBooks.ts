/** Removes old rows from the bookkeeping tables. */
import type { Instant } from '../../instant.ts'
import { onlyRow, type Sql, time } from '../database/sql.ts'
import { trimFeed } from './changeFeed.ts'
import { isLake } from '../database/catalogue.ts'

export type TrimResult = Readonly<Record<'runs' | 'windows' | 'loads', number>>

const COUNTS = `SELECT (SELECT count(*) FROM tidemark.runs) AS runs, (SELECT count(*) FROM tidemark.windows) AS windows,
  (SELECT count(*) FROM tidemark.loads) AS loads`

export async function trimBooks(sql: Sql, before: Instant): Promise<TrimResult> {
  const { runs, windows, loads } = await onlyRow<TrimResult>(sql, COUNTS)
  const ended = `SELECT backfill_id FROM tidemark.backfills WHERE ended_at < ${time(before)} AND state IN ('done', 'cancelled')`
  await sql.run(`
    DELETE FROM tidemark.runs WHERE ended_at < ${time(before)} AND run_id NOT IN (
      SELECT arg_max(run_id, ended_at) FROM tidemark.runs WHERE ended_at IS NOT NULL GROUP BY report, kind, state);
    DELETE FROM tidemark.reconciles WHERE ended_at < ${time(before)} AND reconcile_id NOT IN (
      SELECT arg_max(reconcile_id, ended_at) FROM tidemark.reconciles WHERE ended_at IS NOT NULL GROUP BY report, scope);
    DELETE FROM tidemark.backfill_windows WHERE backfill_id IN (${ended});
    DELETE FROM tidemark.backfills WHERE backfill_id IN (${ended});
    DELETE FROM tidemark.requests WHERE counted_at < ${time(before)};
    DELETE FROM tidemark.orders WHERE asked_at < ${time(before)}`)
  await mergeWindows(sql, before)
  await trimFeed(sql, time(before))
  await removeLoads(sql, before)
  const left = await onlyRow<TrimResult>(sql, COUNTS)
  return { runs: runs - left.runs, windows: windows - left.windows, loads: loads - left.loads }
}

async function mergeWindows(sql: Sql, before: Instant): Promise<void> {
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE old_windows AS
    SELECT w.rowid AS row_id, w.* FROM tidemark.windows w LEFT JOIN tidemark.loads l ON l.load_id = w.load_id
    WHERE l.load_id IS NULL OR l.committed_at < ${time(before)};
    CREATE OR REPLACE TEMP TABLE joined_windows AS
    WITH reaching AS (
      SELECT *, max(until) OVER (
        PARTITION BY report, scope ORDER BY since NULLS FIRST, until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS reached FROM old_windows),
    islands AS (
      SELECT *, count(*) FILTER (reached IS NULL OR since > reached) OVER (
        PARTITION BY report, scope ORDER BY since NULLS FIRST, until ROWS UNBOUNDED PRECEDING
      ) AS island FROM reaching)
    SELECT report, scope, CASE WHEN bool_or(since IS NULL) THEN NULL ELSE min(since) END AS since, max(until) AS until,
      CASE WHEN count(*) = 1 THEN any_value(proof) ELSE 'joined' END AS proof, sum(pages)::BIGINT AS pages,
      sum(rows)::BIGINT AS rows, CASE WHEN count(*) = 1 THEN any_value(total_count) END AS total_count,
      max(load_id) AS load_id
    FROM islands GROUP BY report, scope, island;
    DELETE FROM tidemark.windows WHERE rowid IN (SELECT row_id FROM old_windows);
    INSERT INTO tidemark.windows SELECT * FROM joined_windows;
    DROP TABLE old_windows; DROP TABLE joined_windows`)
}

/** Removes old loads that no stored row refers to. */
async function removeLoads(sql: Sql, before: Instant): Promise<void> {
  const inLake = await isLake(sql)
  // In a lake, only loads without changes are removed: a search for rows of other loads would read all files.
  const changed = inLake ? 'inserted + updated + deleted + children_written + rejected' : 'inserted'
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE old_loads AS SELECT load_id FROM tidemark.loads
    WHERE committed_at < ${time(before)} AND ${changed} = 0 AND load_id < (SELECT max(load_id) FROM tidemark.loads)`)
  const searches = await sql.rows<{ sql: string }>(`
    SELECT format('DELETE FROM old_loads WHERE load_id IN (SELECT {0} FROM {1}.{2} SEMI JOIN (SELECT load_id AS o FROM old_loads) ON {0} = o)',
      column_name, schema_name, table_name) AS sql
    FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
    WHERE database_name = current_database() AND column_name IN ('load_id', '_load_id') AND table_name <> 'loads'
      AND (schema_name = 'tidemark' OR ${!inLake})`)
  // One search of all tables would need too much memory.
  for (const search of searches) await sql.run(search.sql)
  await sql.run('DELETE FROM tidemark.loads WHERE load_id IN (FROM old_loads); DROP TABLE old_loads')
}
