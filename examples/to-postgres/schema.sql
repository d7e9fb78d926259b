-- The tables that follow.ts fills. psql -f schema.sql, once; again changes nothing.
-- The follower needs SELECT, INSERT, UPDATE and DELETE on them, and nothing else.
BEGIN;

-- One row for each quantity in a warehouse. The columns are those of mirror_sellable.
CREATE TABLE IF NOT EXISTS stock (
  variant_id text NOT NULL,
  warehouse_id text NOT NULL,
  sku text,
  product_name text,
  variant_name text,
  warehouse_name text,
  available_qty bigint NOT NULL,
  allow_negative_stock boolean,
  change_seq bigint NOT NULL,
  trusted boolean NOT NULL,
  why_not text,
  PRIMARY KEY (variant_id, warehouse_id)
);
-- A hash takes a text of any length.
CREATE INDEX IF NOT EXISTS stock_sku ON stock USING hash (sku);

-- One row for each variant that has only a total: bundles, pulled products, variants without warehouses.
CREATE TABLE IF NOT EXISTS variants (
  variant_id text PRIMARY KEY,
  sku text,
  product_name text,
  variant_name text,
  available_qty bigint NOT NULL,
  allow_negative_stock boolean,
  change_seq bigint NOT NULL,
  trusted boolean NOT NULL,
  why_not text
);
CREATE INDEX IF NOT EXISTS variants_sku ON variants USING hash (sku);

-- Each change, in order. id only grows, also when the mirror begins a new epoch. The columns are those of
-- mirror_changes.
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

-- One row: how far the feed was followed, and when the mirror last confirmed the trust of the rows.
CREATE TABLE IF NOT EXISTS stock_position (
  id integer PRIMARY KEY CHECK (id = 1),
  epoch text,
  seq bigint NOT NULL,
  confirmed_at timestamptz,
  -- Changes between two starts are missing from stock_changes; stock has what they led to.
  started_over_at timestamptz
);
INSERT INTO stock_position (id, seq) VALUES (1, 0) ON CONFLICT DO NOTHING;

-- Rows that are refused at present: the tables cannot hold them, such as a quantity beyond bigint or a character that
-- the database's encoding lacks, or a trigger raises for them. `sellable` trusts none of them. row_text is JSON in ASCII.
CREATE TABLE IF NOT EXISTS stock_set_aside (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target text NOT NULL,
  variant_id text NOT NULL,
  warehouse_id text,
  row_text text NOT NULL,
  error text NOT NULL,
  set_aside_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS stock_set_aside_variant ON stock_set_aside USING hash (variant_id);

-- What can be sold, and whether to trust it: nothing while the follower is away for a minute.
CREATE OR REPLACE VIEW sellable AS
SELECT variant_id, warehouse_id, sku, product_name, variant_name, warehouse_name, available_qty,
  allow_negative_stock, change_seq, trusted AND is_confirmed AND NOT is_set_aside AS trusted,
  CASE WHEN NOT is_confirmed THEN 'not_confirmed' WHEN is_set_aside THEN 'set_aside' ELSE why_not END AS why_not
FROM (
  SELECT variant_id, warehouse_id, sku, product_name, variant_name, warehouse_name, available_qty,
    allow_negative_stock, change_seq, trusted, why_not
  FROM stock
  UNION ALL
  SELECT variant_id, NULL, sku, product_name, variant_name, NULL, available_qty,
    allow_negative_stock, change_seq, trusted, why_not
  FROM variants
) AS quantities
CROSS JOIN (
  -- A time in the future shows that the server's clock was set back: it confirms nothing.
  SELECT coalesce(confirmed_at BETWEEN now() - interval '1 minute' AND now(), false) AS is_confirmed
  FROM stock_position
) AS confirmed
CROSS JOIN LATERAL (
  SELECT EXISTS (
    SELECT
    FROM stock_set_aside AS aside
    WHERE aside.target <> 'stock_changes'
      AND aside.variant_id = quantities.variant_id
      AND aside.warehouse_id IS NOT DISTINCT FROM quantities.warehouse_id
  ) AS is_set_aside
) AS set_aside;

COMMIT;
