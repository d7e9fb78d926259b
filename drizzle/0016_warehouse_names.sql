-- What the operator calls warehouses, as the last column of the views that name them.
CREATE TABLE `warehouse_names` (
	`warehouse_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
DROP VIEW mirror_changes_readable;
--> statement-breakpoint
DROP VIEW mirror_stock_readable;
--> statement-breakpoint
DROP VIEW mirror_changes;
--> statement-breakpoint
DROP VIEW mirror_stock;
--> statement-breakpoint
CREATE VIEW mirror_stock AS
SELECT
  c.variant_id AS variant_id,
  c.warehouse_id AS warehouse_id,
  v.product_id AS product_id,
  v.sku AS sku,
  p.name AS product_name,
  v.name AS variant_name,
  c.qty AS available_qty,
  c.on_hand AS on_hand,
  c.reserved_qty AS reserved_qty,
  c.source AS source,
  c.as_of_ms AS as_of,
  c.on_hand_as_of_ms AS on_hand_as_of,
  c.verified_at_ms AS verified_at,
  (
    v.product_id IS NULL
    OR c.unexplained_at_ms IS NOT NULL
    OR coalesce(p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state), 1)
    OR EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1)
    OR EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)
  ) AS suspect,
  c.change_seq AS change_seq,
  (SELECT n.name FROM warehouse_names n WHERE n.warehouse_id = c.warehouse_id) AS warehouse_name
FROM cells c
JOIN variants v ON v.variant_id = c.variant_id
LEFT JOIN products p ON p.product_id = v.product_id
WHERE c.gone_at_ms IS NULL;
--> statement-breakpoint
CREATE VIEW mirror_changes AS
SELECT
  changes.seq AS seq,
  changes.variant_id AS variant_id,
  changes.warehouse_id AS warehouse_id,
  changes.sku AS sku,
  changes.old_qty AS old_qty,
  changes.new_qty AS new_qty,
  changes.source AS source,
  changes.reason AS reason,
  changes.order_id AS order_id,
  changes.user_id AS user_id,
  changes.update_time_ms AS update_time,
  changes.recorded_at_ms AS recorded_at,
  changes.request_id AS request_id,
  changes.new_qty - changes.old_qty AS delta,
  (
    SELECT p.name FROM variants v JOIN products p ON p.product_id = v.product_id WHERE v.variant_id = changes.variant_id
  ) AS product_name,
  (SELECT v.name FROM variants v WHERE v.variant_id = changes.variant_id) AS variant_name,
  (SELECT n.name FROM warehouse_names n WHERE n.warehouse_id = changes.warehouse_id) AS warehouse_name
FROM changes;
--> statement-breakpoint
CREATE VIEW mirror_stock_readable AS
SELECT
  variant_id,
  warehouse_id,
  product_id,
  sku,
  product_name,
  variant_name,
  available_qty,
  on_hand,
  reserved_qty,
  source,
  strftime('%Y-%m-%dT%H:%M:%fZ', as_of / 1000.0, 'unixepoch') AS as_of,
  strftime('%Y-%m-%dT%H:%M:%fZ', on_hand_as_of / 1000.0, 'unixepoch') AS on_hand_as_of,
  strftime('%Y-%m-%dT%H:%M:%fZ', verified_at / 1000.0, 'unixepoch') AS verified_at,
  suspect,
  change_seq,
  warehouse_name
FROM mirror_stock;
--> statement-breakpoint
CREATE VIEW mirror_changes_readable AS
SELECT
  seq,
  variant_id,
  warehouse_id,
  sku,
  old_qty,
  new_qty,
  source,
  reason,
  order_id,
  user_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', update_time / 1000.0, 'unixepoch') AS update_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', recorded_at / 1000.0, 'unixepoch') AS recorded_at,
  request_id,
  delta,
  product_name,
  variant_name,
  warehouse_name
FROM mirror_changes;
--> statement-breakpoint
CREATE TRIGGER warehouse_names_guard_insert AFTER INSERT ON warehouse_names WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER warehouse_names_guard_update AFTER UPDATE ON warehouse_names WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER warehouse_names_guard_delete AFTER DELETE ON warehouse_names WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
