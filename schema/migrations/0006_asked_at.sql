-- When a version was asked for decides which of two is newer where stamps go back. What a load before has asked for, and
-- when, is not known.
ALTER TABLE tidemark.loads ADD COLUMN asked_at TIMESTAMPTZ;
COMMENT ON COLUMN tidemark.loads.asked_at IS 'Service time of the first request of its rows, at the earliest; null: not known';
ALTER TABLE tidemark.loads ADD COLUMN unflagged BIGINT;
COMMENT ON COLUMN tidemark.loads.unflagged IS 'Rows without the deletion flag that the report has; null: not known, or the report has none';
