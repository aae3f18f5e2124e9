-- The change feed: what each row was before loads replaced it, and where the feed of a report begins.
CREATE TABLE tidemark.replaced (
  "table" VARCHAR NOT NULL,
  key VARCHAR NOT NULL,
  version_load_id BIGINT NOT NULL,
  was_deleted BOOLEAN NOT NULL,
  load_id BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.replaced IS 'Versions of rows that a load has replaced or removed. The change feed reads them. They are kept for the time in the setting "history"';
COMMENT ON COLUMN tidemark.replaced."table" IS 'The table of the report or of a collection';
COMMENT ON COLUMN tidemark.replaced.key IS 'The key columns of the row as a JSON array; for a collection followed by _child_key';
COMMENT ON COLUMN tidemark.replaced.version_load_id IS 'The load that wrote the replaced version';
COMMENT ON COLUMN tidemark.replaced.was_deleted IS 'Whether the replaced version was marked as deleted';
CREATE TABLE tidemark.feed_starts (
  report VARCHAR NOT NULL,
  load_id BIGINT NOT NULL,
  reason VARCHAR NOT NULL
);
COMMENT ON TABLE tidemark.feed_starts IS 'The oldest cursors that the change feed accepts: those of this load and of later loads';
COMMENT ON COLUMN tidemark.feed_starts.report IS 'The report; empty: all reports';
COMMENT ON COLUMN tidemark.feed_starts.reason IS 'Why the feed cannot begin earlier';
INSERT INTO tidemark.feed_starts
SELECT '', max(load_id), 'older versions of Tidemark kept no record of replaced rows' FROM tidemark.loads HAVING count(*) > 0;
