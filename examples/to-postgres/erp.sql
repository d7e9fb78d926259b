-- The ERP's side of the tables of schema.sql. Runs as it is: psql -f erp.sql; run part 4 every few seconds, or on its NOTIFY.

-- 1. How much of a SKU can be sold, and may I trust it? Without a warehouse: the total of a bundle or pulled product.
SELECT warehouse_id, available_qty, trusted, why_not FROM sellable WHERE sku = 'SKU-00001' ORDER BY warehouse_id;

-- 2. Which rows does PostgreSQL refuse? The other tables lack them, or have an old version that `sellable` does not trust.
SELECT target, row_text, error, set_aside_at FROM stock_set_aside ORDER BY id;

-- 3. What did each order take (negative) or give back in the last hour?
SELECT order_id, sku, warehouse_id, sum(new_qty - old_qty) AS delta
FROM stock_changes
WHERE order_id IS NOT NULL AND recorded_at > now() - interval '1 hour'
GROUP BY order_id, sku, warehouse_id ORDER BY order_id, sku, warehouse_id;

-- 4. Book each movement exactly once, in tables of the ERP.
CREATE TABLE IF NOT EXISTS erp_movements (
  change_id bigint UNIQUE, -- null: written by 4b
  variant_id text NOT NULL,
  warehouse_id text NOT NULL,
  delta bigint NOT NULL,
  reason text,
  booked_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS erp_position (id integer PRIMARY KEY CHECK (id = 1), last_id bigint NOT NULL);
INSERT INTO erp_position VALUES (1, 0) ON CONFLICT DO NOTHING;

-- All statements see one moment. If two programs book at the same time, one gets an error; let it try again.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT last_id FROM erp_position FOR UPDATE;

-- 4a. The changes after the last one booked. A first quantity has no old_qty, a removal no new_qty.
INSERT INTO erp_movements (change_id, variant_id, warehouse_id, delta, reason)
SELECT id, variant_id, warehouse_id, coalesce(new_qty, 0) - coalesce(old_qty, 0), reason
FROM stock_changes
WHERE id > (SELECT last_id FROM erp_position) AND warehouse_id IS NOT NULL
ORDER BY id;

-- 4b. The opening balance; after the follower has started over, the sum of the changes that it missed; otherwise no
-- row.
INSERT INTO erp_movements (variant_id, warehouse_id, delta, reason)
SELECT variant_id, warehouse_id, coalesce(available_qty, 0) - coalesce(booked, 0), 'difference'
FROM stock
FULL JOIN (
  SELECT variant_id, warehouse_id, sum(delta) AS booked FROM erp_movements GROUP BY variant_id, warehouse_id
) AS movements USING (variant_id, warehouse_id)
WHERE coalesce(available_qty, 0) <> coalesce(booked, 0);

UPDATE erp_position SET last_id = greatest(last_id, (SELECT max(id) FROM stock_changes));
COMMIT;

-- 5. Wake the ERP instead of letting it poll: LISTEN stock_changed.
CREATE OR REPLACE FUNCTION notify_stock_changed() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_notify('stock_changed', ''); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER stock_changed AFTER INSERT ON stock_changes
  FOR EACH STATEMENT EXECUTE FUNCTION notify_stock_changed();

-- 6. Keep a year of changes.
DELETE FROM stock_changes WHERE recorded_at < now() - interval '1 year' AND id <= (SELECT last_id FROM erp_position);
