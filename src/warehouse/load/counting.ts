/** Counts stored rows by creation time, to find where the service's total differs (contract §4). */
import { tableOf } from '../../../schema/tables.ts'
import { type Instant, plusMs } from '../../instant.ts'
import type { CreationRange } from '../../plan/countSearch.ts'
import type { Span } from '../../plan/spans.ts'
import type { Fence, WithFence } from '../books/fences.ts'
import { countOf, type Sql, name, text, time, withoutNulls, type WithNulls } from '../database/sql.ts'
import { checkBrake, type Deletion, findAbsent, markAbsent } from './absence.ts'
import {
  heldRowsSql,
  keyColumn,
  keysTableSql,
  partSql,
  type ReportPart,
  storedKeySql,
  storedRowsSql,
} from './reportPart.ts'

type Keys = Iterable<string | number>

/** The keys of all rows created after `until`. The run has just read these rows. */
export interface RecentRows {
  readonly recent: Keys
  readonly until: Instant
}

export interface ReadSpan {
  readonly span: Span
  readonly readBy: string
  readonly keys: Keys
}

export interface CountState {
  readonly countedAt: Instant
  /** The service's total minus the stored rows, if a second read did not explain this difference. Otherwise 0. */
  readonly acceptedDifference: number
  /** The number of consecutive comparisons that found an unexplained difference. */
  readonly failures: number
  /** Why count comparisons are paused for a day. Undefined if they are not paused. */
  readonly pauseReason: string | undefined
}

const readKeysSql = ({ report, scope }: ReportPart, keys: Keys): string =>
  keysTableSql(
    tableOf(report),
    'read_keys',
    Array.from(keys, (key) => (report.currency === undefined ? [key] : [key, scope])),
  )

async function creationRanges(sql: Sql, place: ReportPart, { recent, until }: RecentRows): Promise<CreationRange[]> {
  await sql.run(readKeysSql(place, recent))
  const rows = await sql.rows<{ since: Instant | null; until: Instant | null; rows: number }>(`
    SELECT epoch_us(c.since) AS since, epoch_us(c.until) AS until, count(*) AS rows
    FROM (SELECT ${storedKeySql(place)} AS key FROM ${heldRowsSql(place)}
      AND ${storedKeySql(place)} NOT IN (SELECT ${name(keyColumn(place.report))}::VARCHAR FROM read_keys)) t
    LEFT JOIN (FROM tidemark.creations WHERE ${partSql(place)}) c USING (key) GROUP BY ALL`)
  // Rows created after `until` are not counted, so ranges end at `until`.
  return rows.map((row) => ({
    since: row.since === null ? undefined : (Math.min(row.since, until) as Instant),
    until: Math.min(row.until ?? until, until) as Instant,
    rows: row.rows,
  }))
}

const KEYS_AT_ONCE = 10_000

/** Stores in which range each row was created, by its key. Returns keys of rows that are not stored. */
async function recordCreations(sql: Sql, place: ReportPart, { span, readBy, keys }: ReadSpan): Promise<string[]> {
  const [since, until] = [span.since === undefined ? 'NULL::TIMESTAMPTZ' : time(span.since), time(span.until)]
  const all = [...keys]
  const key = name(keyColumn(place.report))
  const missing: string[] = []
  for (let from = 0; from < all.length; from += KEYS_AT_ONCE) {
    const some = all.slice(from, from + KEYS_AT_ONCE)
    // A key was created in the stored range and in the new one, so their overlap is stored (if none, the new one).
    await sql.run(`
      ${readKeysSql(place, some)}
      CREATE OR REPLACE TEMP TABLE noted AS
      SELECT DISTINCT t.key, CASE WHEN apart THEN ${since} ELSE greatest(c.since, ${since}) END AS since,
        CASE WHEN apart THEN ${until} ELSE least(c.until, ${until}) END AS until
      FROM (SELECT ${key}::VARCHAR AS key FROM read_keys) t
      LEFT JOIN (SELECT *, coalesce(since > ${until}, false) OR coalesce(until < ${since}, false) AS apart
        FROM tidemark.creations WHERE ${partSql(place)}) c USING (key);
      DELETE FROM tidemark.creations WHERE ${partSql(place)} AND key IN (SELECT key FROM noted);
      INSERT INTO tidemark.creations
      SELECT ${text(place.report.name)}, ${text(place.scope)}, key, since, until, ${text(readBy)} FROM noted;
      DELETE FROM tidemark.absences WHERE ${partSql(place)} AND again_from IS NOT NULL AND key IN (SELECT key FROM noted)`)
    const unknown = `SELECT ${key}::VARCHAR AS key FROM read_keys
      WHERE ${key} NOT IN (SELECT t.${key} FROM ${storedRowsSql(place)} AND t.${key} IN (SELECT ${key} FROM read_keys))`
    missing.push(...(await sql.rows<{ key: string }>(unknown)).map((row) => row.key))
  }
  return missing
}

export interface RangeEnd extends ReportPart, Deletion {
  readonly range: Span
  readonly isWhole: boolean
  readonly settleMs: number
}

/** Marks rows as deleted if two reads, `settleMs` apart, do not find them. */
async function endRange(sql: Sql, end: RangeEnd): Promise<{ absent: number; deleted: number }> {
  const { report, scope, range, isWhole, runId, startedAt, settleMs } = end
  const read = `SELECT key FROM tidemark.creations WHERE ${partSql(end)} AND read_by`
  const isInside = `${range.since === undefined ? '' : `since >= ${time(range.since)} AND `}until <= ${time(range.until)}`
  const isAbsent = isWhole ? `NOT IN (${read} = ${text(runId)})` : `IN (${read} <> ${text(runId)} AND ${isInside})`
  const { absent, deleted, held } = await findAbsent(sql, end, `${storedKeySql(end)} ${isAbsent}`)
  checkBrake(report.name, deleted, held)
  await sql.run(`
    INSERT INTO tidemark.absences (report, scope, key, reconcile_id, again_from)
    SELECT ${text(report.name)}, ${text(scope)}, key, ${text(runId)}, ${time(plusMs(startedAt, settleMs))} FROM absent
    WHERE NOT again AND key NOT IN (SELECT key FROM tidemark.absences WHERE ${partSql(end)});
    DELETE FROM tidemark.absences WHERE ${partSql(end)} AND key IN (SELECT key FROM absent WHERE again)`)
  if (deleted > 0) await markAbsent(sql, end, deleted)
  return { absent, deleted }
}

async function lastCount(sql: Pick<Sql, 'cachedRows'>, place: ReportPart): Promise<CountState | undefined> {
  const [row] = await sql.cachedRows<WithNulls<CountState>>(`
    SELECT epoch_us(counted_at) AS "countedAt", unexplained AS "acceptedDifference", failures, stopped AS "pauseReason" FROM tidemark.countings WHERE ${partSql(place)}`)
  return row && withoutNulls<CountState>(row)
}

async function recordCount(sql: Sql, place: ReportPart, state: CountState): Promise<void> {
  const { countedAt, acceptedDifference, failures, pauseReason } = state
  const reason = pauseReason === undefined ? 'NULL' : text(pauseReason)
  await sql.run(`
    DELETE FROM tidemark.countings WHERE ${partSql(place)};
    INSERT INTO tidemark.countings VALUES (${text(place.report.name)}, ${text(place.scope)}, ${time(countedAt)},
      ${acceptedDifference}, ${failures}, ${reason})`)
}

/** Runs `work` in a transaction, after all queued loads. */
type FencedWork = <T>(fence: Fence | undefined, work: (sql: Sql) => Promise<T>) => Promise<T>

export const countBooks = (database: Pick<Sql, 'rows' | 'cachedRows'>, fenced: FencedWork) => ({
  heldRows: (place: ReportPart) => countOf({ rows: (query) => database.cachedRows(query) }, heldRowsSql(place)),
  hasCreations: async (place: ReportPart): Promise<boolean> =>
    (await database.cachedRows(`SELECT 1 FROM tidemark.creations WHERE ${partSql(place)} LIMIT 1`)).length > 0,
  creationRanges: (place: ReportPart & WithFence, which: RecentRows) =>
    fenced(place.fence, (sql) => creationRanges(sql, place, which)),
  recordCreations: (place: ReportPart & WithFence, read: ReadSpan) =>
    fenced(place.fence, (sql) => recordCreations(sql, place, read)),
  endRange: (end: RangeEnd & WithFence) => fenced(end.fence, (sql) => endRange(sql, end)),
  lastCount: (place: ReportPart) => lastCount(database, place),
  recordCount: (state: ReportPart & WithFence & CountState) =>
    fenced(state.fence, (sql) => recordCount(sql, state, state)),
})

export type CountBooks = ReturnType<typeof countBooks>
