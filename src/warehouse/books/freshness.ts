/** Creates the view `tidemark.freshness`, which shows the time up to which each report is complete. */
import { reports } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { DELETES_VISIBLE, isConfigured, JOIN_FIGURES, joinLateRows, joinPerReport, LATE_DAYS } from './bookFigures.ts'
import { name, text } from '../database/sql.ts'
import { stampSql } from '../tables/tables.ts'

const utcText = (value: string): string => `strftime(${value} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S UTC')`

const span = (value: string): string => `
  CASE WHEN ${value} < INTERVAL 2 MINUTES THEN ${counted(`epoch(${value})::BIGINT`, 'second')}
    WHEN ${value} < INTERVAL 2 HOURS THEN ${counted(`floor(epoch(${value}) / 60)::BIGINT`, 'minute')}
    WHEN ${value} < INTERVAL 2 DAYS THEN ${counted(`floor(epoch(${value}) / 3600)::BIGINT`, 'hour')}
    ELSE ${counted(`floor(epoch(${value}) / 86400)::BIGINT`, 'day')} END`

const counted = (value: string, noun: string): string =>
  `format('{:,} ', ${value}) || CASE ${value} WHEN 1 THEN '${noun}' ELSE '${noun}s' END`

const trails = reports
  .filter(({ perRecord }) => perRecord !== undefined)
  .map(({ name }) => text(name))
  .join(', ')

/** SQL for the sentences of the column `explained`. NULL omits a sentence. */
const SENTENCES: readonly string[] = [
  `'Not running: ' || rtrim(f.not_running_because, '.') || '.'`,
  `CASE WHEN f.rows = 0 THEN '0 rows because ' || CASE
    WHEN f.not_running_because IS NOT NULL THEN 'it does not run'
    WHEN f.last_state IN ('failed', 'stopped') THEN 'its last run ' || f.last_state || coalesce(': ' || x.last_error, '')
    WHEN f.last_run IS NULL THEN 'it has not run yet'
    WHEN f.rejected > 0 THEN 'every row that came was rejected'
    WHEN f.report IN (${trails}) THEN 'no record that it follows is here yet, or none has an entry'
    WHEN f.mark IS NULL THEN 'no run has read the report to its end yet'
    ELSE 'the service returned none that the configuration requests' END || '.' END`,
  `CASE WHEN f.mark IS NULL AND f.last_run IS NOT NULL AND NOT (f.rows = 0 AND f.report IN (${trails})) THEN 'It was never read to its end.'
    WHEN f.mark IS NOT NULL THEN coalesce('Read ' || CASE WHEN x.open_start THEN 'from the beginning' ELSE 'from ' || ${utcText('x.since')} END
      || ' to ' || ${utcText('x.until')} || CASE WHEN x.gaps > 0 THEN ' with ' || ${counted('x.gaps', 'gap')} ELSE '' END || '. ', '')
      || 'Everything that the service showed as modified up to ' || ${utcText('f.mark')} || ' is here, that was ' || ${span('f.lag')} || ' ago.' END`,
  `'Being read again up to ' || ${utcText('x.refill_until')} || CASE x.because WHEN 'reset' THEN ', after a reset.' ELSE ', since ' || x.because || ' changed.' END`,
  `CASE WHEN f.late_rows > 0 THEN ${counted('f.late_rows', 'row')} || ' of the last ${LATE_DAYS} days came late, one of them by at least '
    || ${span('f.largest_lateness')} || ': overlap should be twice that.' END`,
  `CASE f.deletes_visible WHEN 'flag' THEN 'Deletions show with the next sync: rows say so themselves.'
    WHEN 'diff' THEN 'Deletions show with the next sync that reads their time: two reads are compared.'
    WHEN 'absence' THEN CASE WHEN x.stopped IS NULL THEN 'Deletions show when counts differ and a row is absent twice, or when' ELSE 'Deletions show only when' END || ' two reconciles in a row did not find a row.'
    ELSE CASE WHEN f.report IN (${trails}) THEN 'Entries are never marked as deleted. An entry that the service shows late is not found.'
      ELSE 'Deletions do not show while the report has filters: what they leave out looks the same. Only a reconcile finds late rows.' END END`,
  `CASE WHEN f.last_reconcile IS NOT NULL THEN 'The last reconcile (' || ${utcText('f.last_reconcile')} || ') found ' || CASE
      WHEN coalesce(f.reconcile_missed, 0) + coalesce(f.reconcile_differed, 0) + coalesce(f.reconcile_deleted, 0) = 0 THEN 'nothing wrong'
      ELSE ${counted('f.reconcile_missed', 'row')} || ' missing and ' || ${counted('f.reconcile_differed', 'row')} || ' different, and repaired them; '
        || ${counted('f.reconcile_deleted', 'row')} || ' marked as deleted' END || '.'
    WHEN f.deletes_visible = 'absence' THEN 'No reconcile has ended yet.' END`,
  `CASE WHEN f.rejected > 0 THEN ${counted('f.rejected', 'row')} || ' could not be stored: tidemark.rejected_rows says why.' END`,
  `'Rows are not counted for a day, so late rows and deletions wait for a reconcile: ' || x.stopped || '.'`,
  `'Skipped, and tried again by itself: ' || f.skipped_records || '.'`,
  `CASE WHEN f.misfits > 0 THEN ${counted('f.misfits', 'value')} || ' did not fit: the columns are NULL, tidemark.misfits lists them.' END`,
  `CASE WHEN x.frozen > 0 THEN ${counted('x.frozen', 'field')} || ' got no column or kept an old type: values are in _extra or _payload (tidemark.schema_changes).' END`,
  `CASE WHEN x.history_ended IS NOT NULL THEN 'Its history ended at ' || ${utcText('x.history_ended')} || '.' END`,
]

const OF_CONFIGURED = 'c JOIN tidemark.report_states s USING (report) WHERE'

const FACTS = `
  SELECT s.report, c.since, c.until, c.open_start, c.gaps, g.refill_until, g.because, r.last_error, k.frozen, h.history_ended, n.stopped
  FROM tidemark.report_states s
  ${joinPerReport(
    'c',
    'min(since) AS since, max(until) AS until, bool_or(since IS NULL) AS open_start, count(*) - count(DISTINCT scope) AS gaps',
    `covered ${OF_CONFIGURED} ${isConfigured('c.scope')}`,
  )}
  ${joinPerReport(
    'g',
    'max(refill_until) AS refill_until, arg_max(because, refill_until) AS because',
    `coverage ${OF_CONFIGURED} refill_until IS NOT NULL AND ${isConfigured('c.scope')}`,
  )}
  ${joinPerReport('r', 'arg_max(error, ended_at) AS last_error', 'runs WHERE error IS NOT NULL')}
  ${joinPerReport('k', 'count(*) AS frozen', "schema_changes WHERE change IN ('frozen', 'limit')")}
  ${joinPerReport('h', 'CASE WHEN bool_and(ended_at IS NOT NULL) THEN max(ended_at) END AS history_ended', 'histories')}
  ${joinPerReport('n', 'max(stopped) AS stopped', 'countings')}`

const SKIPPED_NAMED = 5

export function freshnessSql(): string {
  const counts = reports.map(countsSql)
  const measured = reports.filter(({ newerBy }) => newerBy.length > 0).map(({ name }) => text(name))
  return `
    CREATE OR REPLACE VIEW tidemark.freshness AS
    SELECT f.*, concat_ws(' ', ${SENTENCES.join(', ')}) AS explained
    FROM (SELECT s.report, m.mark, now() - m.mark AS lag, r.last_run, r.last_state, c.rows, c.deleted,
      coalesce(j.rejected, 0) AS rejected, ${DELETES_VISIBLE}, s.enabled,
      coalesce(s.paused_reason, s.off_reason) AS not_running_because,
      q.last_reconcile, q.reconcile_missed, q.reconcile_differed, q.reconcile_deleted,
      CASE WHEN s.report IN (${measured.join(', ')}) OR s.deletes = 'absence' THEN coalesce(l.late_rows, 0) END AS late_rows,
      l.largest_lateness, c.future_rows, c.unstamped_rows, x.skipped_records, coalesce(v.misfits, 0) AS misfits,
      coalesce(j.dismissed, 0) AS dismissed
    FROM tidemark.report_states s
    ${JOIN_FIGURES}
    ${joinPerReport('r', 'max(ended_at) AS last_run, arg_max(state, ended_at) AS last_state', 'runs')}
    LEFT JOIN (${counts.join(' UNION ALL ')}) c USING (report)
    ${joinLateRows('l', LATE_DAYS * 24)}
    LEFT JOIN (
      SELECT report, string_agg(scope || ' (' || code || ')', ', ' ORDER BY n) FILTER (n <= ${SKIPPED_NAMED})
        || CASE WHEN count(*) > ${SKIPPED_NAMED} THEN ' and ' || (count(*) - ${SKIPPED_NAMED}) || ' more' ELSE '' END AS skipped_records
      FROM (SELECT *, row_number() OVER (PARTITION BY report ORDER BY attempts, scope) AS n FROM tidemark.skipped_records) GROUP BY report
    ) x USING (report)) f LEFT JOIN (${FACTS}) x USING (report);
    COMMENT ON VIEW tidemark.freshness IS 'One row per report: up to when it is complete, and why not later';`
}

/** Returns comments on the view's columns. A lake can't store such comments. */
export const freshnessCommentsSql = (): string => `
  COMMENT ON COLUMN tidemark.freshness.explained IS 'The same in words: how far the report is read, what is missing and why';
  COMMENT ON COLUMN tidemark.freshness.reconcile_missed IS 'Rows that the last reconcile found missing, although their windows were read';
  COMMENT ON COLUMN tidemark.freshness.reconcile_differed IS 'Rows that the last reconcile found with other values, although no window brought the change';
  COMMENT ON COLUMN tidemark.freshness.late_rows IS 'Late rows of the last ${LATE_DAYS} days: the service showed them only after a window had requested their time, or a comparison of counts found them; null: not counted (audits, and reports without a stamp that have filters)';
  COMMENT ON COLUMN tidemark.freshness.largest_lateness IS 'Lower bound of the longest delay of the late rows, from stamp to answer (from creation, for rows that a comparison of counts found); set overlap to at least twice this value';
  COMMENT ON COLUMN tidemark.freshness.future_rows IS 'Rows whose stamp is later than the service''s clock when they were read; they move no mark; null: rows have no stamp';
  COMMENT ON COLUMN tidemark.freshness.unstamped_rows IS 'Rows without a stamp, of a report whose rows have stamps; null: rows have no stamp';
  COMMENT ON COLUMN tidemark.freshness.skipped_records IS 'Records whose audit trail could not be read, each with the code of the error. Later runs request them again (tidemark.skipped_records); null: none';
  COMMENT ON COLUMN tidemark.freshness.mark IS 'The service time up to which the report is complete: the windows up to it were read, and all rows that the service showed in them are stored';
  COMMENT ON COLUMN tidemark.freshness.misfits IS 'Values that do not fit their columns (tidemark.misfits)';
  COMMENT ON COLUMN tidemark.freshness.rejected IS 'Rows that could not be stored, without those that were dismissed';
  COMMENT ON COLUMN tidemark.freshness.dismissed IS 'Rejected rows that were dismissed, by a person or because of their age';
  COMMENT ON COLUMN tidemark.freshness.deletes_visible IS 'How deletions are seen: flag, diff, absence (counts are compared after each run, and whole reports by reconcile; none while the report has filters), none';`

function countsSql(report: Declaration): string {
  const stamp = stampSql(report, 't')
  const stamped = (is: string) => (stamp === undefined ? 'NULL::BIGINT' : `count(*) FILTER (${stamp} ${is})`)
  return `
    SELECT ${text(report.name)} AS report, count(*) AS rows, count(*) FILTER (is_deleted) AS deleted,
      ${stamped(`> _observed_at + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`)} AS future_rows, ${stamped('IS NULL')} AS unstamped_rows
    FROM main.${name(report.name)} t`
}
