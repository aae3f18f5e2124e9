-- If a row's stamp goes back, the time of the request decides which version is newer. Earlier loads have no such time.
ALTER TABLE tidemark.loads ADD COLUMN asked_at TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.loads.asked_at IS 'Service time of the first request of its rows, at the earliest; null: not known';
ALTER TABLE tidemark.loads ADD COLUMN unflagged BIGINT;
COMMENT ON COLUMN tidemark.loads.unflagged IS 'Rows without the deletion flag that the report has; null: not known, or the report has none';

-- A service may ignore page numbers and cut every response without a sign.
ALTER TABLE tidemark.page_sizes ADD COLUMN whole_max BIGINT;
COMMENT ON COLUMN tidemark.page_sizes.whole_max IS 'Rows of the largest response that narrower requests proved to be whole; null: none';

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

CREATE TABLE tidemark.creations (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  since TIMESTAMPTZ,
  until TIMESTAMPTZ,
  read_by VARCHAR
);
COMMENT ON TABLE tidemark.creations IS 'In which span of creation the service returned a row: the narrowest one so far';
COMMENT ON COLUMN tidemark.creations.since IS 'Start of the span of creation, included; null: without a lower bound';
COMMENT ON COLUMN tidemark.creations.until IS 'End of the span of creation, included';
COMMENT ON COLUMN tidemark.creations.read_by IS 'The run that last read the row by its time of creation, where that run compared counts';

CREATE TABLE tidemark.countings (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  counted_at TIMESTAMPTZ NOT NULL,
  unexplained BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  stopped VARCHAR
);
COMMENT ON TABLE tidemark.countings IS 'Comparisons of the service''s totals with the rows held, where they were not equal or ended';
COMMENT ON COLUMN tidemark.countings.counted_at IS 'The service''s clock at the last comparison that is recorded here';
COMMENT ON COLUMN tidemark.countings.unexplained IS 'Rows that the service counts beyond those held, although no row is missing';
COMMENT ON COLUMN tidemark.countings.failures IS 'Comparisons in a row that found a difference and no row that explains it';
COMMENT ON COLUMN tidemark.countings.stopped IS 'Why rows are not counted for a day; null: they are';

ALTER TABLE tidemark.absences ADD COLUMN again_from TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.absences.again_from IS 'From when on a second absence counts; null: at once';
