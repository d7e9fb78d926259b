-- The tables that follow.ts fills. psql -f schema.sql, once; again changes nothing.
-- The follower needs SELECT, INSERT, UPDATE and DELETE on them, and nothing else.
BEGIN;

-- One row for each stock level. sku: as of the level's last change.
CREATE TABLE IF NOT EXISTS stock (
  variant_id text NOT NULL,
  warehouse_id text NOT NULL,
  sku text,
  available_qty bigint NOT NULL,
  change_seq bigint NOT NULL,
  PRIMARY KEY (variant_id, warehouse_id)
);
CREATE INDEX IF NOT EXISTS stock_sku ON stock (sku);

-- Each change, in order. id only grows, also when the mirror begins a new epoch. The columns are those of mirror_changes.
CREATE TABLE IF NOT EXISTS stock_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  epoch text NOT NULL,
  seq bigint NOT NULL,
  variant_id text NOT NULL,
  warehouse_id text,
  sku text,
  old_qty bigint,
  new_qty bigint,
  source text NOT NULL,
  reason text,
  order_id text,
  user_id text,
  recorded_at timestamptz NOT NULL
);

-- One row: how far the feed was followed, and when the mirror last answered.
CREATE TABLE IF NOT EXISTS stock_position (
  id integer PRIMARY KEY CHECK (id = 1),
  epoch text,
  seq bigint NOT NULL,
  answered_at timestamptz,
  -- Changes between two starts are missing from stock_changes; stock has what they led to.
  started_over_at timestamptz
);
INSERT INTO stock_position (id, seq) VALUES (1, 0) ON CONFLICT DO NOTHING;

COMMIT;
