-- What page numbers count from isn't specified: a bare array shows it only to who looks for it.
ALTER TABLE tidemark.page_sizes ADD COLUMN first_number INTEGER;
COMMENT ON COLUMN tidemark.page_sizes.first_number IS 'What page numbers count from, 0 or 1; null: not known yet';
