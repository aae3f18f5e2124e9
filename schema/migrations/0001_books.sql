-- The books: the bookkeeping of requests, proofs, loads and rejected rows. Every entry is written in the transaction of
-- the rows that it describes.
CREATE SCHEMA IF NOT EXISTS tidemark;
CREATE SCHEMA IF NOT EXISTS current;
CREATE SCHEMA IF NOT EXISTS history;

CREATE TABLE tidemark.layout (version INTEGER NOT NULL, applied_at TIMESTAMPTZ NOT NULL);
COMMENT ON TABLE tidemark.layout IS 'Layouts that this warehouse has had';

CREATE TABLE tidemark.marks (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  mark VARCHAR NOT NULL,
  value TIMESTAMPTZ NOT NULL,
  load_id BIGINT NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE tidemark.marks IS 'High-water marks: the windows up to the time in value were read, and all rows that the service showed in them are stored';
COMMENT ON COLUMN tidemark.marks.scope IS 'Empty, or the currency or record of the mark';
COMMENT ON COLUMN tidemark.marks.mark IS 'The time that is compared: modified_since, aggregate_record_modified, or since (audits)';
COMMENT ON COLUMN tidemark.marks.value IS 'The mark: a service time';

CREATE TABLE tidemark.windows (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  since TIMESTAMPTZ,
  until TIMESTAMPTZ NOT NULL,
  proof VARCHAR NOT NULL,
  pages BIGINT NOT NULL,
  rows BIGINT NOT NULL,
  total_count BIGINT,
  load_id BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.windows IS 'Windows that were read whole, and how each was proven';
COMMENT ON COLUMN tidemark.windows.since IS 'Null: read without a lower bound';
COMMENT ON COLUMN tidemark.windows.until IS 'Service time up to which the window is known to be complete';

CREATE TABLE tidemark.covered (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  since TIMESTAMPTZ,
  until TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE tidemark.covered IS 'The merged windows. Each row is a range of time that was read without a gap, by report and currency (not for audits)';
COMMENT ON COLUMN tidemark.covered.since IS 'Null: no lower bound';
COMMENT ON COLUMN tidemark.covered.until IS 'Service time. After a change of the configuration, tidemark.coverage has the range that is read again';

CREATE TABLE tidemark.loads (
  load_id BIGINT NOT NULL,
  run_id VARCHAR NOT NULL,
  report VARCHAR NOT NULL,
  committed_at TIMESTAMPTZ NOT NULL,
  rows BIGINT NOT NULL,
  inserted BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  unchanged BIGINT NOT NULL,
  deleted BIGINT NOT NULL,
  children_written BIGINT NOT NULL,
  rejected BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  late BIGINT,
  lateness INTERVAL
);
COMMENT ON TABLE tidemark.loads IS 'One row per committed load: rows, child rows, books and mark in one transaction';
COMMENT ON COLUMN tidemark.loads.late IS 'Late rows: the service showed them only after a window had requested their time, or a comparison of counts found them. Null: not measured (first runs, backfills, reconciles, and loads of reports without a stamp that no comparison of counts made)';
COMMENT ON COLUMN tidemark.loads.lateness IS 'Lower bound of the longest delay of a late row, from its stamp to the response; null: no late row';

CREATE TABLE tidemark.runs (
  run_id VARCHAR NOT NULL,
  report VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  ended_at TIMESTAMPTZ,
  pages BIGINT NOT NULL,
  rows BIGINT NOT NULL,
  inserted BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  deleted BIGINT NOT NULL,
  rejected BIGINT NOT NULL,
  error_code VARCHAR,
  error VARCHAR,
  cure VARCHAR
);
COMMENT ON TABLE tidemark.runs IS 'One row per run of a report: running, done, failed, or stopped before its end';

CREATE TABLE tidemark.rejected_rows (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  key VARCHAR,
  reason VARCHAR NOT NULL,
  row JSON NOT NULL,
  load_id BIGINT NOT NULL,
  observed_at TIMESTAMPTZ
);
COMMENT ON TABLE tidemark.rejected_rows IS 'Complete rows that could not be stored, with the reason';
COMMENT ON COLUMN tidemark.rejected_rows.observed_at IS 'Service time of the newest response that contained the row';

CREATE TABLE tidemark.schema_changes (
  report VARCHAR NOT NULL,
  table_name VARCHAR NOT NULL,
  column_name VARCHAR,
  change VARCHAR NOT NULL,
  old_type VARCHAR,
  new_type VARCHAR,
  load_id BIGINT NOT NULL,
  changed_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE tidemark.schema_changes IS 'Changes of columns for new data, and changes that were not possible';

CREATE TABLE tidemark.columns (
  table_name VARCHAR NOT NULL,
  field VARCHAR NOT NULL,
  column_name VARCHAR NOT NULL,
  type VARCHAR NOT NULL,
  load_id BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.columns IS 'Undocumented fields that became columns: which field fills which column';

CREATE TABLE tidemark.followed (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  ask_after TIMESTAMPTZ NOT NULL,
  asked_at TIMESTAMPTZ
);
COMMENT ON TABLE tidemark.followed IS 'Records whose audit trails are read';
COMMENT ON COLUMN tidemark.followed.ask_after IS 'The trail is requested again if the last request was before this time';

CREATE TABLE tidemark.reconciles (
  reconcile_id VARCHAR NOT NULL,
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  reached TIMESTAMPTZ,
  ended_at TIMESTAMPTZ,
  rows BIGINT NOT NULL,
  missed BIGINT NOT NULL,
  differed BIGINT NOT NULL,
  absent BIGINT NOT NULL,
  deleted BIGINT NOT NULL,
  asked JSON
);
COMMENT ON TABLE tidemark.reconciles IS 'Comparisons of whole reports with the service; one without ended_at continues where it stopped';
COMMENT ON COLUMN tidemark.reconciles.started_at IS 'The service''s clock at the beginning';
COMMENT ON COLUMN tidemark.reconciles.asked IS 'The start and the filters of the requests. If the configuration changes them, the reconcile begins again';
COMMENT ON COLUMN tidemark.reconciles.missed IS 'Rows that the service returned and the warehouse lacked, although their windows were read';
COMMENT ON COLUMN tidemark.reconciles.differed IS 'Rows whose values differ from the service''s, although no window contained the change';
COMMENT ON COLUMN tidemark.reconciles.absent IS 'Rows of the table that the service did not return, for the first time';

CREATE TABLE tidemark.reconcile_keys (reconcile_id VARCHAR NOT NULL, key VARCHAR NOT NULL);
COMMENT ON TABLE tidemark.reconcile_keys IS 'Keys that the service returned to a reconcile that has not ended';

CREATE TABLE tidemark.absences (report VARCHAR NOT NULL, scope VARCHAR NOT NULL, key VARCHAR NOT NULL, reconcile_id VARCHAR NOT NULL);
COMMENT ON TABLE tidemark.absences IS 'Rows that the last reconcile or comparison of counts did not find. If the next one does not find them, they are marked as deleted';
COMMENT ON COLUMN tidemark.absences.reconcile_id IS 'The reconcile, or the run that compared counts, that did not find the row';

CREATE TABLE tidemark.coverage (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  asked JSON NOT NULL,
  refill_until TIMESTAMPTZ,
  because VARCHAR
);
COMMENT ON TABLE tidemark.coverage IS 'The settings of the last requests of each report';
COMMENT ON COLUMN tidemark.coverage.scope IS 'Empty, or the currency, or the entity of audited records (entity:)';
COMMENT ON COLUMN tidemark.coverage.refill_until IS 'Rows modified up to here (audits: trails read up to here) are read again, because the configuration changed; null: none';
COMMENT ON COLUMN tidemark.coverage.because IS 'The setting that changed: start, filters, expand, entities, columns. Or reset: tidemark reset was run';

CREATE TABLE tidemark.page_sizes (
  report VARCHAR NOT NULL,
  asked BIGINT NOT NULL,
  full_min BIGINT,
  seen_max BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.page_sizes IS 'The paging profile of each report (docs/PROOFS.md, appendix A), by requested page size';
COMMENT ON COLUMN tidemark.page_sizes.full_min IS 'Rows of the smallest page that was followed by another';
COMMENT ON COLUMN tidemark.page_sizes.asked IS 'The requested page size';

CREATE TABLE tidemark.fences (
  report VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  epoch BIGINT NOT NULL,
  holder VARCHAR NOT NULL,
  taken_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE tidemark.fences IS 'The newest run of each report and kind. Older runs cannot commit any more';
COMMENT ON COLUMN tidemark.fences.epoch IS 'Grows with each run; a load has the epoch of its run';
COMMENT ON COLUMN tidemark.fences.holder IS 'The newest run';

CREATE TABLE tidemark.backfills (
  backfill_id VARCHAR NOT NULL,
  report VARCHAR NOT NULL,
  since TIMESTAMPTZ NOT NULL,
  until TIMESTAMPTZ NOT NULL,
  state VARCHAR NOT NULL,
  windows BIGINT NOT NULL,
  requested_at TIMESTAMPTZ NOT NULL,
  started_at TIMESTAMPTZ,
  ended_at TIMESTAMPTZ
);
COMMENT ON TABLE tidemark.backfills IS 'Backfills: past ranges that are read again on request. A pending backfill continues where it stopped';
COMMENT ON COLUMN tidemark.backfills.state IS 'pending, running, done, failed (some windows; they are tried again), cancelled';

CREATE TABLE tidemark.backfill_windows (
  backfill_id VARCHAR NOT NULL,
  number BIGINT NOT NULL,
  scope VARCHAR NOT NULL,
  since TIMESTAMPTZ NOT NULL,
  until TIMESTAMPTZ NOT NULL,
  state VARCHAR NOT NULL,
  planned_rows BIGINT,
  planned_requests BIGINT NOT NULL,
  rows BIGINT,
  pages BIGINT,
  attempts BIGINT NOT NULL,
  error_code VARCHAR,
  error VARCHAR,
  load_id BIGINT
);
COMMENT ON TABLE tidemark.backfill_windows IS 'The windows of each backfill. A window becomes done in the transaction of its last rows';
COMMENT ON COLUMN tidemark.backfill_windows.state IS 'pending, done, failed, cancelled';
COMMENT ON COLUMN tidemark.backfill_windows.number IS 'From 1, newest first';
COMMENT ON COLUMN tidemark.backfill_windows.planned_rows IS 'Rows that the plan expects; null: unknown';
COMMENT ON COLUMN tidemark.backfill_windows.load_id IS 'The load that completed the window (tidemark.loads)';

CREATE TABLE tidemark.histories (report VARCHAR NOT NULL, since TIMESTAMPTZ NOT NULL, ended_at TIMESTAMPTZ);
COMMENT ON TABLE tidemark.histories IS 'Since when every version of a report''s rows is kept in schema history';
COMMENT ON COLUMN tidemark.histories.since IS 'When the history was switched on; the rows of that time are the first versions';
COMMENT ON COLUMN tidemark.histories.ended_at IS 'When the history was switched off and all versions were closed; null: it is on';

CREATE TABLE tidemark.settings (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
COMMENT ON TABLE tidemark.settings IS 'Facts of this warehouse: number_mark never changes, lake_upkeep (JSON) is the last upkeep of a lake, definitions is a fingerprint of the views, functions and comments, published_from is the path of the warehouse that was published';

CREATE TABLE tidemark.report_states (
  report VARCHAR NOT NULL,
  enabled BOOLEAN NOT NULL,
  deletes VARCHAR NOT NULL,
  off_reason VARCHAR,
  paused_code VARCHAR,
  paused_reason VARCHAR,
  paused_cure VARCHAR,
  paused_at TIMESTAMPTZ,
  paused_with VARCHAR
);
COMMENT ON COLUMN tidemark.report_states.paused_with IS 'The client and the scopes that the service refused and, for refused credentials, 16 bits of a hash of the secret. A change of one of them ends the pause';
COMMENT ON TABLE tidemark.report_states IS 'Whether each report runs, why it does not, and how its deletions are recognised';
