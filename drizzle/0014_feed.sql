-- What a change came to, and its names, in the feed; the feed by time, from an index; the same views for people.
CREATE INDEX changes_recorded ON changes (recorded_at_ms);
--> statement-breakpoint
DROP VIEW mirror_changes;
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
  (SELECT v.name FROM variants v WHERE v.variant_id = changes.variant_id) AS variant_name
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
  change_seq
FROM mirror_stock;
--> statement-breakpoint
CREATE VIEW mirror_variants_readable AS
SELECT
  variant_id,
  product_id,
  sku,
  upc,
  product_name,
  variant_name,
  kind,
  available_qty,
  on_hand,
  reserved_qty,
  allow_negative_stock,
  price_json,
  cost,
  strftime('%Y-%m-%dT%H:%M:%fZ', as_of / 1000.0, 'unixepoch') AS as_of,
  strftime('%Y-%m-%dT%H:%M:%fZ', verified_at / 1000.0, 'unixepoch') AS verified_at,
  suspect,
  change_seq
FROM mirror_variants;
--> statement-breakpoint
CREATE VIEW mirror_products_readable AS
SELECT
  product_id,
  name,
  parent_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', update_time / 1000.0, 'unixepoch') AS update_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', verified_at / 1000.0, 'unixepoch') AS verified_at,
  detail_json
FROM mirror_products;
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
  variant_name
FROM mirror_changes;
--> statement-breakpoint
CREATE VIEW mirror_status_readable AS
SELECT
  epoch,
  schema_version,
  state,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_delivery_at / 1000.0, 'unixepoch') AS last_delivery_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_full_sync_at / 1000.0, 'unixepoch') AS last_full_sync_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', oldest_verified_at / 1000.0, 'unixepoch') AS oldest_verified_at,
  pending_reads,
  suspect_count,
  open_gaps,
  last_seq,
  strftime('%Y-%m-%dT%H:%M:%fZ', alive_at / 1000.0, 'unixepoch') AS alive_at
FROM mirror_status;
