-- The specification does not define the first page number. For a bare array it is found by test requests, so it is
-- stored.
ALTER TABLE tidemark.page_sizes ADD COLUMN first_number INTEGER;
COMMENT ON COLUMN tidemark.page_sizes.first_number IS 'What page numbers count from, 0 or 1; null: not known yet';
