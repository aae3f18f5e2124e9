-- The orders of people: each command and each action of the console that changes something.
CREATE TABLE tidemark.orders (
  order_id UUID NOT NULL,
  asked_at TIMESTAMPTZ NOT NULL,
  who VARCHAR NOT NULL,
  what VARCHAR NOT NULL,
  request JSON NOT NULL,
  ended_at TIMESTAMPTZ,
  result VARCHAR
);
COMMENT ON TABLE tidemark.orders IS 'Orders: each command and each action of the console that changes something';
COMMENT ON COLUMN tidemark.orders.order_id IS 'Identifies the order';
COMMENT ON COLUMN tidemark.orders.asked_at IS 'When the order was received (clock of the machine)';
COMMENT ON COLUMN tidemark.orders.who IS 'Who gave the order: console, or the user and the machine of a command (ada@etl-1)';
COMMENT ON COLUMN tidemark.orders.what IS 'The operation, such as sync, backfill or pause';
COMMENT ON COLUMN tidemark.orders.request IS 'The whole request: reports, ranges, options';
COMMENT ON COLUMN tidemark.orders.ended_at IS 'When the operation ended; null: it is running, or its process died';
COMMENT ON COLUMN tidemark.orders.result IS 'done, or the code of the error, or the failed reports with their codes; null: not ended';
