-- The specification does not define the first page number. For a bare array, Tidemark finds it by test requests and
-- stores it.
ALTER TABLE tidemark.page_sizes ADD COLUMN first_number INTEGER;
COMMENT ON COLUMN tidemark.page_sizes.first_number IS 'Number of the first page, 0 or 1; null: not known yet';
