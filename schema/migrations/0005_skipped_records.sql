CREATE TABLE tidemark.skipped_records (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  code VARCHAR NOT NULL,
  reason VARCHAR NOT NULL,
  attempts BIGINT NOT NULL,
  ask_again_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE tidemark.skipped_records IS 'Records whose audit trail could not be read although others could. A record leaves the list when its trail is read';
COMMENT ON COLUMN tidemark.skipped_records.code IS 'Code of the error (docs/ERRORS.md)';
COMMENT ON COLUMN tidemark.skipped_records.reason IS 'What the service answered';
COMMENT ON COLUMN tidemark.skipped_records.ask_again_at IS 'When a run requests the trail again; the time between two attempts doubles, up to a day';
