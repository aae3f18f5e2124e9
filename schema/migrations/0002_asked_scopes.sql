-- How far a report is complete is told of the currencies that are asked for: what was taken out of the configuration
-- stands still.
ALTER TABLE tidemark.report_states ADD COLUMN scopes VARCHAR[];
COMMENT ON COLUMN tidemark.report_states.scopes IS 'The currencies that are asked for; null: every scope that was read';

-- Layout 1 was made without it for a few hours.
ALTER TABLE tidemark.reconciles ADD COLUMN IF NOT EXISTS asked JSON;
COMMENT ON COLUMN tidemark.reconciles.asked IS 'The start and the filters that it asked with; with others it begins anew';
