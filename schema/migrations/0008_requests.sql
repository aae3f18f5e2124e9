CREATE TABLE tidemark.requests (
  counted_at TIMESTAMPTZ NOT NULL,
  report VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  requests BIGINT NOT NULL
);
COMMENT ON TABLE tidemark.requests IS 'Requests to the service, also repeated ones and those answered with 429, without requests for tokens';
COMMENT ON COLUMN tidemark.requests.counted_at IS 'The service''s time when the requests were counted';
COMMENT ON COLUMN tidemark.requests.kind IS 'Kind of run: incremental, backfill, reconcile; other: outside of a run, or of another process';
COMMENT ON COLUMN tidemark.requests.requests IS 'Requests since they were last counted';
