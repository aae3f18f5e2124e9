/** Upkeep limits the number of files, snapshots and catalogue rows of a lake. */
import type { Clock } from '../../clock.ts'
import { asSyncError } from '../../errors.ts'
import { DAY_MS, formatInstant, type Instant, minusMs, MINUTE_MS } from '../../instant.ts'
import { LAKE } from './lake.ts'
import { type Sql, text, time } from './sql.ts'

/** Small loads stay in the catalogue until a table has this many rows there. */
const INLINED_ROWS_MAX = 500
const SMALL_FILE_BYTES = 32 * 2 ** 20
const SMALL_FILES_MAX = 10
/** A file is rewritten if this fraction of its rows is deleted. */
const DELETED_PART_MAX = 0.5
/** The limits of one upkeep. The next upkeep does the remaining work. */
const REWRITTEN_BYTES_MAX = 256 * 2 ** 20
const MERGED_FILES_MAX = 10
const EXPIRED_SNAPSHOTS_MAX = 5_000
const REMOVED_FILES_MAX = 1_000
const UPKEEP_MS_MAX = 10 * MINUTE_MS
/** Time between the starts of two upkeeps. A killed worker records no end, so ends are not used. */
const UPKEEP_EVERY_MS = 50 * MINUTE_MS
/** Files without a snapshot are kept this long, because running statements may still read them. */
const UNUSED_KEPT_MS = DAY_MS

/** How many files, snapshots and catalogue rows a lake has, and the total size of its files. */
export type LakeFigures = Readonly<Record<'files' | 'bytes' | 'snapshots' | 'catalogue_rows', number>>

/** The record of a lake's last upkeep. */
export interface LakeUpkeep {
  readonly began_at: string
  /** Null while the upkeep is running, or if its worker was killed. */
  readonly ended_at: string | null
  readonly before: LakeFigures
  readonly after: LakeFigures | null
  /** Number of steps that failed or did not begin in time. The next run of the upkeep retries them. */
  readonly left: number
  readonly failed: readonly string[]
}

export interface UpkeepOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
  readonly snapshotsMs: number
  readonly signal: AbortSignal
  /** True if an operator requested the upkeep, which then starts at once. */
  readonly isOrdered?: boolean
}

/** Runs the upkeep. Returns undefined if another upkeep began recently. */
export async function keepLake(
  transact: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>,
  { clock, signal, snapshotsMs, isOrdered = false }: UpkeepOptions,
): Promise<LakeUpkeep | undefined> {
  const [beganMs, now] = [clock.monotonicMs(), clock.now()]
  const upkeep = await transact(async (sql) => {
    const last = await lastUpkeep(sql)
    const isRecent = last !== undefined && last.began_at > formatInstant(minusMs(now, UPKEEP_EVERY_MS))
    if (isRecent && !(isOrdered && last.ended_at !== null)) return undefined
    const begun = { began_at: formatInstant(now), ended_at: null, after: null, left: 0, failed: [] }
    return record(sql, { ...begun, before: await figuresOf(sql) })
  })
  if (upkeep === undefined) return undefined
  const ofTables = await transact(stepsOfTables)
  const steps = [expiry(minusMs(now, snapshotsMs)), removal(minusMs(now, UNUSED_KEPT_MS)), ...ofTables]
  const failed: string[] = []
  let left = steps.length
  for (const each of steps) {
    if (signal.aborted || clock.monotonicMs() - beganMs > UPKEEP_MS_MAX) break
    const step = async () => {
      if (await transact((sql) => run(sql, each))) await transact(renewSchema)
    }
    const error = await step().then(() => undefined, asSyncError)
    if (error === undefined) left -= 1
    else failed.push(`${error.code}: ${error.message}`)
  }
  const end = { left, failed, ended_at: formatInstant(clock.now()) }
  return transact(async (sql) => record(sql, { ...upkeep, ...end, after: await figuresOf(sql) }))
}

export async function lastUpkeep(sql: Pick<Sql, 'rows'>): Promise<LakeUpkeep | undefined> {
  const [last] = await sql.rows<{ value: string }>(`SELECT value FROM tidemark.settings WHERE name = 'lake_upkeep'`)
  return last && (JSON.parse(last.value) as LakeUpkeep)
}

async function record(sql: Sql, upkeep: LakeUpkeep): Promise<LakeUpkeep> {
  await sql.run(`DELETE FROM tidemark.settings WHERE name = 'lake_upkeep'`)
  await sql.run(`INSERT INTO tidemark.settings VALUES ('lake_upkeep', $1)`, [JSON.stringify(upkeep)])
  return upkeep
}

/** Returns true if the commit will drop tables of the catalogue. `renewSchema` must then run again after the commit. */
async function run(sql: Sql, [name, query, table]: Step): Promise<boolean> {
  const [found] = await sql.rows<{ args: string | null }>(query)
  if (found?.args == null || (table !== undefined && (await hasInlinedDeletions(sql, table)))) return false
  await sql.run(`CALL ducklake_${name}('${LAKE}', ${found.args})`)
  if (name !== FLUSH) return false
  const [tables] = await sql.rows<{ drops: boolean }>(
    `SELECT count(*) > count(DISTINCT table_id) AS drops FROM ${IN}inlined_data_tables`,
  )
  if (tables?.drops === true) await renewSchema(sql)
  return tables?.drops === true
}

/** If the catalogue lists deleted rows, a rewrite would duplicate rows in older snapshots (duckdb/ducklake#1406). */
async function hasInlinedDeletions(sql: Sql, table: number): Promise<boolean> {
  const count = sql.rows<{ n: number }>(`SELECT count(*) AS n FROM ${IN}inlined_delete_${table}`)
  // DuckLake creates this table only when it stores the first deletion.
  const [found] = await count.catch((error: unknown) => {
    if (/does not exist/.test(asSyncError(error).message)) return []
    throw error
  })
  return (found?.n ?? 0) > 0
}

/** Makes other processes notice dropped tables of the catalogue (duckdb/ducklake#1305, #1469). */
async function renewSchema(sql: Sql): Promise<void> {
  const [view] = await sql.rows<{ comment: string | null }>(
    `SELECT comment FROM duckdb_views() WHERE database_name = '${LAKE}' AND schema_name = 'tidemark' AND view_name = 'freshness'`,
  )
  await sql.run(`COMMENT ON VIEW tidemark.freshness IS ${text(view?.comment ?? '')}`)
}

const CATALOGUE = `__ducklake_metadata_${LAKE}`
const IN = `${CATALOGUE}.ducklake_`

async function inlinedSql(sql: Sql): Promise<string> {
  const tables = await sql.rows<{ count: string }>(`
    SELECT format('SELECT {}, count(*) FROM ${CATALOGUE}.{}', table_id, table_name) AS count FROM ${IN}inlined_data_tables`)
  return ['SELECT 0 AS table_id, 0 AS inlined', ...tables.map(({ count }) => count)].join(' UNION ALL ')
}

async function figuresOf(sql: Sql): Promise<LakeFigures> {
  const counted = (tables: string) => tables.replaceAll(/\w+/g, `(SELECT count(*) FROM ${IN}$&)`)
  const files = counted('data_file + delete_file + files_scheduled_for_deletion')
  const [figures] = await sql.rows<LakeFigures>(`
    SELECT ${files} AS files, (SELECT coalesce(sum(file_size_bytes), 0)::BIGINT FROM ${IN}data_file) AS bytes,
      ${counted('snapshot')} AS snapshots, ${files} + ${counted('snapshot + snapshot_changes + file_column_stats')}
        + (SELECT sum(inlined)::BIGINT FROM (${await inlinedSql(sql)})) AS catalogue_rows`)
  return figures as LakeFigures
}

/** A DuckLake function and a query for its arguments. The step is skipped if the query returns NULL. */
type Step = readonly [name: string, query: string, table?: number]

const FLUSH = 'flush_inlined_data'

const args = (all: string): string => `SELECT ${text(all)} AS args`

const expiry = (before: Instant): Step => [
  'expire_snapshots',
  `SELECT 'versions => [' || string_agg(snapshot_id, ', ') || ']' AS args FROM (
    FROM ${LAKE}.snapshots() WHERE snapshot_time < ${time(before)} ORDER BY snapshot_id LIMIT ${EXPIRED_SNAPSHOTS_MAX})`,
]

const removal = (before: Instant): Step => [
  'cleanup_old_files',
  `SELECT format('older_than => ''{}''::TIMESTAMPTZ', max(since) + INTERVAL 1 MILLISECOND) AS args FROM (
    SELECT least(${time(before)}, schedule_start::TIMESTAMPTZ) AS since FROM ${IN}files_scheduled_for_deletion
    ORDER BY 1 LIMIT ${REMOVED_FILES_MAX})`,
]

const FILES = `
  SELECT table_id, file_size_bytes AS bytes, coalesce(d.rows, 0) / record_count AS deleted
  FROM ${IN}data_file f LEFT JOIN (
    SELECT data_file_id, sum(delete_count) AS rows FROM ${IN}delete_file WHERE end_snapshot IS NULL GROUP BY ALL
  ) d USING (data_file_id) WHERE f.end_snapshot IS NULL`

async function stepsOfTables(sql: Sql): Promise<Step[]> {
  const tables = await sql.rows<Readonly<Record<'id' | 'small', number> & Record<'schema' | 'name', string>>>(`
    WITH files AS (
      SELECT table_id, count(*) FILTER (bytes < ${SMALL_FILE_BYTES}) AS small, max(deleted) AS deleted FROM (${FILES}) GROUP BY 1),
    inlined AS (SELECT table_id, sum(inlined) AS inlined FROM (${await inlinedSql(sql)}) GROUP BY 1)
    SELECT table_id AS id, s.schema_name AS schema, t.table_name AS name, coalesce(small, 0) AS small
    FROM ${IN}table t JOIN ${IN}schema s USING (schema_id) LEFT JOIN files USING (table_id) LEFT JOIN inlined USING (table_id)
    WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL
      AND (small >= ${SMALL_FILES_MAX} OR deleted >= ${DELETED_PART_MAX} OR inlined >= ${INLINED_ROWS_MAX})
    ORDER BY small DESC`)
  return tables.flatMap(({ id, small, ...table }): Step[] => {
    const [name, schema] = [text(table.name), text(table.schema)]
    // DuckLake does not merge files with deleted rows, so they are rewritten first. 0.999 allows for rounding errors.
    const rewritten = `
      SELECT ${text(`${name}, schema => ${schema}, delete_threshold => `)} || min(deleted) * 0.999 AS args FROM (
        SELECT deleted, sum(bytes) OVER (ORDER BY deleted DESC) - bytes AS others FROM (${FILES}) WHERE table_id = ${id} AND deleted > 0)
      WHERE others < ${REWRITTEN_BYTES_MAX} AND deleted >= ${small >= SMALL_FILES_MAX ? 0 : DELETED_PART_MAX}`
    return [
      [FLUSH, args(`table_name => ${name}, schema_name => ${schema}`)],
      ['rewrite_data_files', rewritten, id],
      ['merge_adjacent_files', args(`${name}, schema => ${schema}, max_compacted_files => ${MERGED_FILES_MAX}`)],
    ]
  })
}
