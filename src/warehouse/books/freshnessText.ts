/** The column `explained` of `tidemark.freshness`: the state of a report in sentences, such as why it has no rows. */
import { reports } from '../../../schema/index.ts'
import { isConfigured, LATE_DAYS } from './bookFigures.ts'
import { text } from '../database/sqlText.ts'

const moment = (value: string): string => `strftime(${value} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S UTC')`

/** Returns SQL of a duration as text, in one unit. Example: `3 hours`. */
const span = (value: string): string => `
  CASE WHEN ${value} < INTERVAL 2 MINUTES THEN ${counted(`epoch(${value})::BIGINT`, 'second')}
    WHEN ${value} < INTERVAL 2 HOURS THEN ${counted(`(epoch(${value}) / 60)::BIGINT`, 'minute')}
    WHEN ${value} < INTERVAL 2 DAYS THEN ${counted(`(epoch(${value}) / 3600)::BIGINT`, 'hour')}
    ELSE ${counted(`(epoch(${value}) / 86400)::BIGINT`, 'day')} END`

const counted = (value: string, noun: string): string =>
  `format('{:,} ', ${value}) || CASE ${value} WHEN 1 THEN '${noun}' ELSE '${noun}s' END`

/** SQL list of the names of the audit reports. */
const trails = reports
  .filter(({ deletes }) => deletes === 'none')
  .map(({ name }) => text(name))
  .join(', ')

/** SQL of each sentence; NULL if the sentence does not apply. `f`: the columns of the view. `x`: those of `FACTS`. */
const SENTENCES: readonly string[] = [
  `'Not running: ' || rtrim(f.not_running_because, '.') || '.'`,
  `CASE WHEN f.rows = 0 THEN '0 rows because ' || CASE
    WHEN f.not_running_because IS NOT NULL THEN 'it does not run'
    WHEN f.last_state IN ('failed', 'stopped') THEN 'its last run ' || f.last_state || coalesce(': ' || x.last_error, '')
    WHEN f.last_run IS NULL THEN 'it has not run yet'
    WHEN f.rejected > 0 THEN 'every row that came was rejected'
    WHEN f.report IN (${trails}) THEN 'no record that it follows is here yet, or none has an entry'
    ELSE 'the service showed none for what is asked' END || '.' END`,
  `CASE WHEN f.mark IS NULL AND f.last_run IS NOT NULL AND NOT (f.rows = 0 AND f.report IN (${trails})) THEN 'It was never read to its end.'
    WHEN f.mark IS NOT NULL THEN coalesce('Read ' || CASE WHEN x.open_start THEN 'from the beginning' ELSE 'from ' || ${moment('x.since')} END
      || ' to ' || ${moment('x.until')} || CASE WHEN x.gaps > 0 THEN ' with ' || ${counted('x.gaps', 'gap')} ELSE '' END || '. ', '')
      || 'Everything that the service showed as modified up to ' || ${moment('f.mark')} || ' is here, that was ' || ${span('f.lag')} || ' ago.' END`,
  `'Being read again up to ' || ${moment('x.refill_until')} || ', since ' || x.because || ' changed.'`,
  `CASE WHEN f.late_rows > 0 THEN ${counted('f.late_rows', 'row')} || ' of the last ${LATE_DAYS} days came late, by up to '
    || ${span('f.largest_lateness')} || ': overlap should be twice that.' END`,
  `CASE f.deletes_visible WHEN 'flag' THEN 'Deletions show with the next sync: rows say so themselves.'
    WHEN 'diff' THEN 'Deletions show with the next sync that reads their time: two reads are compared.'
    WHEN 'absence' THEN 'Deletions show when counts differ and a row is absent twice, or when two reconciles in a row did not find a row.'
    ELSE CASE WHEN f.report IN (${trails}) THEN 'Entries are never marked as deleted.'
      ELSE 'Deletions do not show while the report has filters: what they leave out looks the same.' END END`,
  `CASE WHEN f.last_reconcile IS NOT NULL THEN 'The last reconcile (' || ${moment('f.last_reconcile')} || ') found ' || CASE
      WHEN coalesce(f.reconcile_missed, 0) + coalesce(f.reconcile_differed, 0) + coalesce(f.reconcile_deleted, 0) = 0 THEN 'nothing wrong'
      ELSE ${counted('f.reconcile_missed', 'row')} || ' missing and ' || ${counted('f.reconcile_differed', 'row')} || ' different, and repaired them; '
        || ${counted('f.reconcile_deleted', 'row')} || ' marked as deleted' END || '.'
    WHEN f.deletes_visible = 'absence' THEN 'No reconcile has ended yet.' END`,
  `CASE WHEN f.rejected > 0 THEN ${counted('f.rejected', 'row')} || ' could not be stored: tidemark.rejected_rows says why.' END`,
  `'Rows are not counted: ' || x.stopped || '.'`,
  `'Skipped, and tried again by itself: ' || f.skipped_records || '.'`,
  `CASE WHEN f.misfits > 0 THEN ${counted('f.misfits', 'value')} || ' did not fit: the columns are NULL, tidemark.misfits lists them.' END`,
  `CASE WHEN x.frozen > 0 THEN ${counted('x.frozen', 'field')} || ' got no column or kept an old type: values are in _extra or _payload (tidemark.schema_changes).' END`,
  `CASE WHEN x.history_ended IS NOT NULL THEN 'Its history ended at ' || ${moment('x.history_ended')} || '.' END`,
]

/** Query of values that the sentences need and that are not in the view. */
const FACTS = `
  SELECT s.report, c.since, c.until, c.open_start, c.gaps, g.refill_until, g.because, r.last_error, k.frozen, h.history_ended, n.stopped
  FROM tidemark.report_states s
  LEFT JOIN (
    SELECT report, min(since) AS since, max(until) AS until, bool_or(since IS NULL) AS open_start,
      count(*) - count(DISTINCT scope) AS gaps
    FROM tidemark.covered c JOIN tidemark.report_states s USING (report) WHERE ${isConfigured('c.scope')} GROUP BY report
  ) c USING (report)
  LEFT JOIN (
    SELECT report, max(refill_until) AS refill_until, arg_max(because, refill_until) AS because
    FROM tidemark.coverage c JOIN tidemark.report_states s USING (report)
    WHERE refill_until IS NOT NULL AND ${isConfigured('c.scope')} GROUP BY report
  ) g USING (report)
  LEFT JOIN (SELECT report, arg_max(error, ended_at) AS last_error FROM tidemark.runs WHERE error IS NOT NULL GROUP BY report) r USING (report)
  LEFT JOIN (
    SELECT report, count(*) AS frozen FROM tidemark.schema_changes WHERE change IN ('frozen', 'limit') GROUP BY report
  ) k USING (report)
  LEFT JOIN (
    SELECT report, CASE WHEN bool_and(ended_at IS NOT NULL) THEN max(ended_at) END AS history_ended
    FROM tidemark.histories GROUP BY report
  ) h USING (report)
  LEFT JOIN (SELECT report, max(stopped) AS stopped FROM tidemark.countings GROUP BY report) n USING (report)`

/** Returns the query of the view with `explained` as its last column. */
export const explainedSql = (freshness: string): string => `
  SELECT f.*, concat_ws(' ', ${SENTENCES.join(', ')}) AS explained
  FROM (${freshness}) f LEFT JOIN (${FACTS}) x USING (report)`

export const EXPLAINED_COMMENT = text('The same in words: how far the report is read, what is missing and why')
