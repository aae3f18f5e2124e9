-- If a value does not fit its column, only the value is rejected. The row is stored without it.
CREATE TABLE tidemark.misfits (
  report VARCHAR NOT NULL,
  "table" VARCHAR NOT NULL,
  "column" VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  value JSON,
  reason VARCHAR NOT NULL,
  first_seen TIMESTAMPTZ NOT NULL,
  last_seen TIMESTAMPTZ NOT NULL,
  load_id BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.misfits IS 'Values that do not fit their column. The column is NULL until a later version of the row fits';
COMMENT ON COLUMN tidemark.misfits."table" IS 'The table of the report or of a collection';
COMMENT ON COLUMN tidemark.misfits."column" IS 'The column that the value does not fit';
COMMENT ON COLUMN tidemark.misfits.key IS 'The key columns of the row, joined by colons; for a collection followed by _child_key';
COMMENT ON COLUMN tidemark.misfits.value IS 'The value as it was sent; null where the report keeps columns only (exclude_payload)';
COMMENT ON COLUMN tidemark.misfits.reason IS 'Why the value does not fit';
COMMENT ON COLUMN tidemark.misfits.first_seen IS 'Service time of the first response in which the value of this column did not fit';
COMMENT ON COLUMN tidemark.misfits.last_seen IS 'Service time of the last response with the value';

ALTER TABLE tidemark.loads ADD COLUMN misfits BIGINT;
COMMENT ON COLUMN tidemark.loads.misfits IS 'Values that did not fit their columns; null: the load is older than this column';
ALTER TABLE tidemark.runs ADD COLUMN misfits BIGINT;
COMMENT ON COLUMN tidemark.runs.misfits IS 'Values that did not fit their columns; null: the run is older than this column';

ALTER TABLE tidemark.rejected_rows ADD COLUMN dismissed_at TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.rejected_rows.dismissed_at IS 'When a person dismissed the row. If it was dismissed because of its age (rejected_keep): when the service last sent it. Null: it is listed';
