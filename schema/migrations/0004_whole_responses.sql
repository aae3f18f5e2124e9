-- A service may ignore page numbers and cut every response without a sign.
ALTER TABLE tidemark.page_sizes ADD COLUMN whole_max BIGINT;
COMMENT ON COLUMN tidemark.page_sizes.whole_max IS 'Rows of the largest response that narrower requests proved to be whole; null: none';
