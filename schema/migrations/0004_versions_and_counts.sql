-- If a row's stamp goes back, the time of the request decides which version is newer. Earlier loads have no such time.
ALTER TABLE tidemark.loads ADD COLUMN asked_at TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.loads.asked_at IS 'Lower bound of the service time of the requests for these rows; null: not known';
ALTER TABLE tidemark.loads ADD COLUMN unflagged BIGINT;
COMMENT ON COLUMN tidemark.loads.unflagged IS 'Rows without the deletion flag that the report has; null: not known, or the report has none';

-- A service may ignore page numbers and shorten every response. Nothing in such a response shows this, so requests for
-- shorter ranges must prove that a response is complete.
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
COMMENT ON COLUMN tidemark.skipped_records.ask_again_at IS 'When a run requests the trail again. The time between two attempts doubles, up to a day';

CREATE TABLE tidemark.creations (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  since TIMESTAMPTZ,
  until TIMESTAMPTZ,
  read_by VARCHAR
);
COMMENT ON TABLE tidemark.creations IS 'The notes of counting (docs/PROOFS.md): the narrowest span of creation in which the service returned a row';
COMMENT ON COLUMN tidemark.creations.since IS 'Start of the span of creation, included; null: without a lower bound';
COMMENT ON COLUMN tidemark.creations.until IS 'End of the span of creation, included';
COMMENT ON COLUMN tidemark.creations.read_by IS 'The last run that compared counts and read the row by its time of creation';

CREATE TABLE tidemark.countings (
  report VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  counted_at TIMESTAMPTZ NOT NULL,
  unexplained BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  stopped VARCHAR
);
COMMENT ON TABLE tidemark.countings IS 'Comparisons of the service''s totals with the rows held, if the numbers differed or comparisons are stopped for a day';
COMMENT ON COLUMN tidemark.countings.counted_at IS 'The service''s clock at that comparison';
COMMENT ON COLUMN tidemark.countings.unexplained IS 'The difference, total minus rows held, that no row explains';
COMMENT ON COLUMN tidemark.countings.failures IS 'Number of comparisons in a row that found no row to explain the difference';
COMMENT ON COLUMN tidemark.countings.stopped IS 'Why comparisons are stopped for a day; null: they are not';

ALTER TABLE tidemark.absences ADD COLUMN again_from TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.absences.again_from IS 'A comparison that begins earlier does not count as the second absence; null: every comparison counts';
