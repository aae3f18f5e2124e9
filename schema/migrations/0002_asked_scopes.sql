-- The mark of a report is the earliest one of its configured currencies. The mark of a currency that was removed from
-- the configuration does not move, so it must not count.
ALTER TABLE tidemark.report_states ADD COLUMN scopes VARCHAR[];
COMMENT ON COLUMN tidemark.report_states.scopes IS 'The configured currencies; null: every part that was read counts';
