-- The tables behind the views have the names of what they hold. Only names change, whatever the number of rows; columns,
-- indexes and checks keep theirs, for making an index anew takes minutes where there are many rows. What names a table is made
-- anew beside it.
DROP VIEW IF EXISTS mirror_status_readable;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_variants_readable;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_stock_readable;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_status;
--> statement-breakpoint
DROP VIEW IF EXISTS state_cause;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_variants;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_stock;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_live_insert;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_live_update;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_live_delete;
--> statement-breakpoint
DROP TRIGGER IF EXISTS variants_cells_insert;
--> statement-breakpoint
DROP TRIGGER IF EXISTS variants_cells_update;
--> statement-breakpoint
DROP TRIGGER IF EXISTS variants_cells_delete;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_guard_insert;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_guard_update;
--> statement-breakpoint
DROP TRIGGER IF EXISTS cells_guard_delete;
--> statement-breakpoint
DROP TRIGGER IF EXISTS obligations_guard_insert;
--> statement-breakpoint
DROP TRIGGER IF EXISTS obligations_guard_update;
--> statement-breakpoint
DROP TRIGGER IF EXISTS obligations_guard_delete;
--> statement-breakpoint
DROP TRIGGER IF EXISTS product_cells_guard_delete;
--> statement-breakpoint
DROP TRIGGER IF EXISTS quarantine_guard_insert;
--> statement-breakpoint
DROP TRIGGER IF EXISTS quarantine_guard_update;
--> statement-breakpoint
DROP TRIGGER IF EXISTS quarantine_guard_delete;
--> statement-breakpoint
-- What another program has put into the file stays as it is, and nothing in it can hold this up.
PRAGMA legacy_alter_table = ON;
--> statement-breakpoint
ALTER TABLE cells RENAME TO stock_levels;
--> statement-breakpoint
ALTER TABLE product_cells RENAME TO product_stock_levels;
--> statement-breakpoint
ALTER TABLE obligations RENAME TO read_requests;
--> statement-breakpoint
ALTER TABLE quarantine RENAME TO dead_letters;
--> statement-breakpoint
PRAGMA legacy_alter_table = OFF;
--> statement-breakpoint
CREATE TRIGGER `stock_levels_live_insert` AFTER INSERT ON `stock_levels` WHEN NEW.`gone_at_ms` IS NULL
BEGIN
	UPDATE `live_counts` SET `cells` = `cells` + 1;
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT `product_id`, 1 FROM `variants` WHERE `variant_id` = NEW.`variant_id` AND `product_id` IS NOT NULL
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
--> statement-breakpoint
CREATE TRIGGER `stock_levels_live_update` AFTER UPDATE OF `gone_at_ms` ON `stock_levels`
WHEN (OLD.`gone_at_ms` IS NULL) <> (NEW.`gone_at_ms` IS NULL)
BEGIN
	UPDATE `live_counts` SET `cells` = `cells` + iif(NEW.`gone_at_ms` IS NULL, 1, -1);
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT `product_id`, iif(NEW.`gone_at_ms` IS NULL, 1, -1) FROM `variants` WHERE `variant_id` = NEW.`variant_id` AND `product_id` IS NOT NULL
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
--> statement-breakpoint
CREATE TRIGGER `stock_levels_live_delete` AFTER DELETE ON `stock_levels` WHEN OLD.`gone_at_ms` IS NULL
BEGIN
	UPDATE `live_counts` SET `cells` = `cells` - 1;
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT `product_id`, -1 FROM `variants` WHERE `variant_id` = OLD.`variant_id` AND `product_id` IS NOT NULL
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_levels_insert` AFTER INSERT ON `variants` WHEN NEW.`product_id` IS NOT NULL
BEGIN
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT NEW.`product_id`, count(*) FROM `stock_levels`
	WHERE `variant_id` = NEW.`variant_id` AND `gone_at_ms` IS NULL AND NEW.`product_id` IS NOT NULL GROUP BY `variant_id`
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_levels_update` AFTER UPDATE OF `product_id` ON `variants`
WHEN OLD.`product_id` IS NOT NEW.`product_id`
BEGIN
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT OLD.`product_id`, -count(*) FROM `stock_levels`
	WHERE `variant_id` = OLD.`variant_id` AND `gone_at_ms` IS NULL AND OLD.`product_id` IS NOT NULL GROUP BY `variant_id`
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT NEW.`product_id`, count(*) FROM `stock_levels`
	WHERE `variant_id` = NEW.`variant_id` AND `gone_at_ms` IS NULL AND NEW.`product_id` IS NOT NULL GROUP BY `variant_id`
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_levels_delete` AFTER DELETE ON `variants` WHEN OLD.`product_id` IS NOT NULL
BEGIN
	INSERT INTO `product_stock_levels` (`product_id`, `cells`)
	SELECT OLD.`product_id`, -count(*) FROM `stock_levels`
	WHERE `variant_id` = OLD.`variant_id` AND `gone_at_ms` IS NULL AND OLD.`product_id` IS NOT NULL GROUP BY `variant_id`
	ON CONFLICT (`product_id`) DO UPDATE SET `cells` = `cells` + excluded.`cells`;
END;
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
    OR EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.doubt = 1)
    OR EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)
  ) AS suspect,
  c.change_seq AS change_seq,
  (SELECT n.name FROM warehouse_names n WHERE n.warehouse_id = c.warehouse_id) AS warehouse_name
FROM stock_levels c
JOIN variants v ON v.variant_id = c.variant_id
LEFT JOIN products p ON p.product_id = v.product_id
WHERE c.gone_at_ms IS NULL;
--> statement-breakpoint
CREATE VIEW mirror_variants AS
SELECT
  v.variant_id AS variant_id,
  v.product_id AS product_id,
  v.sku AS sku,
  v.upc AS upc,
  p.name AS product_name,
  v.name AS variant_name,
  v.kind AS kind,
  v.available_qty AS available_qty,
  v.on_hand AS on_hand,
  v.reserved_qty AS reserved_qty,
  v.allow_negative_stock AS allow_negative_stock,
  v.price_json AS price_json,
  v.cost AS cost,
  v.as_of_ms AS as_of,
  v.verified_at_ms AS verified_at,
  (
    coalesce(p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state), 1)
    OR EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.doubt = 1)
    OR EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = v.variant_id)
    OR v.total_hi_ms > 8640000000000000
  ) AS suspect,
  v.change_seq AS change_seq
FROM variants v
LEFT JOIN products p ON p.product_id = v.product_id
WHERE v.gone_at_ms IS NULL AND v.product_id IS NOT NULL AND v.available_qty IS NOT NULL;
--> statement-breakpoint
CREATE VIEW state_cause AS
WITH now (ms) AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
SELECT CASE
  WHEN s.stopped_at_ms IS NOT NULL THEN 'stopped'
  WHEN s.alive_at_ms IS NULL OR s.alive_at_ms < now.ms - 10000 THEN 'no_heartbeat'
  WHEN s.last_full_sync_at_ms IS NULL THEN 'first_read'
  WHEN EXISTS (
    SELECT 1 FROM products WHERE gone_at_ms IS NULL AND read_at_ms < m.trusted_after_ms AND product_id NOT IN (SELECT product_id FROM given_up_reads)
  ) THEN 'downtime'
  WHEN EXISTS (
    SELECT 1 FROM read_requests WHERE doubt = 1 AND first_made_at_ms < now.ms - 900000 AND product_id NOT IN (SELECT product_id FROM given_up_reads)
  ) THEN 'waiting'
  WHEN (
    SELECT g.products > 0 AND (g.products >= live.products OR g.products > max(1, live.products / 20))
    FROM live_counts live, (
      SELECT count(*) AS products FROM given_up_reads r CROSS JOIN products p ON p.product_id = r.product_id
      WHERE p.gone_at_ms IS NULL
    ) g
  ) THEN 'given_up'
END AS cause
FROM mirror_state m, service_state s, now;
--> statement-breakpoint
CREATE VIEW mirror_status AS
SELECT
  s.epoch AS epoch,
  (SELECT count(*) FROM __drizzle_migrations) AS schema_version,
  CASE (SELECT cause FROM state_cause)
    WHEN 'stopped' THEN 'stale'
    WHEN 'no_heartbeat' THEN 'stale'
    WHEN 'first_read' THEN 'catching_up'
    WHEN 'downtime' THEN 'catching_up'
    WHEN 'waiting' THEN 'stale'
    WHEN 'given_up' THEN 'stale'
    ELSE 'live'
  END AS state,
  m.last_delivery_at_ms AS last_delivery_at,
  s.last_full_sync_at_ms AS last_full_sync_at,
  (SELECT min(read_at_ms) FROM products WHERE gone_at_ms IS NULL AND read_at_ms > 0) AS oldest_verified_at,
  (
    WITH barrier (ms) AS (SELECT max(
      m.trusted_after_ms,
      coalesce((SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL), m.trusted_after_ms)
    ))
    SELECT (
      SELECT count(*) FROM products WHERE gone_at_ms IS NULL AND read_at_ms < barrier.ms
    ) + (
      SELECT count(*) FROM read_requests o WHERE NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) + (
      SELECT count(DISTINCT v.product_id) FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
      WHERE NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id) AND NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) FROM barrier
  ) + (SELECT count(*) FROM variants WHERE lookup_at_ms IS NOT NULL)
  + (m.bundles_due_at_ms IS NOT NULL) + (m.canary_due_at_ms IS NOT NULL) AS pending_reads,
  CASE WHEN (
    SELECT count(*) FROM (SELECT 1 FROM products p WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state) LIMIT 5001)
  ) <= 5000 THEN (
    SELECT coalesce(sum(pc.cells), 0) FROM products p CROSS JOIN product_stock_levels pc ON pc.product_id = p.product_id
    WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
  ) ELSE (
    SELECT coalesce(sum(pc.cells), 0) FROM product_stock_levels pc CROSS JOIN products p ON pc.product_id = p.product_id
    WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
  ) END + (
    SELECT coalesce(sum(pc.cells), 0) FROM read_requests o CROSS JOIN product_stock_levels pc ON pc.product_id = o.product_id
    WHERE o.doubt = 1 AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state))
  ) + (
    SELECT count(DISTINCT g.variant_id || '/' || g.warehouse_id) FROM gaps g
    CROSS JOIN variants v ON v.variant_id = g.variant_id
    WHERE v.product_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.doubt = 1) AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state))
  ) + (
    SELECT count(*) FROM stock_levels c CROSS JOIN variants v ON v.variant_id = c.variant_id
    WHERE c.unexplained_at_ms IS NOT NULL AND c.gone_at_ms IS NULL AND v.product_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM read_requests o WHERE o.product_id = v.product_id AND o.doubt = 1) AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)) AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)
  ) + (
    SELECT count(*) FROM variants v CROSS JOIN stock_levels c ON c.variant_id = v.variant_id
    WHERE v.product_id IS NULL AND c.gone_at_ms IS NULL
  ) AS suspect_count,
  (SELECT count(*) FROM gaps) AS open_gaps,
  m.change_seq AS last_seq,
  s.alive_at_ms AS alive_at
FROM mirror_state m, service_state s;
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
--> statement-breakpoint
CREATE TRIGGER dead_letters_guard_insert AFTER INSERT ON dead_letters WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER dead_letters_guard_update AFTER UPDATE ON dead_letters WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER dead_letters_guard_delete AFTER DELETE ON dead_letters WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER product_stock_levels_guard_delete AFTER DELETE ON product_stock_levels WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_requests_guard_insert AFTER INSERT ON read_requests WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_requests_guard_update AFTER UPDATE ON read_requests WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_requests_guard_delete AFTER DELETE ON read_requests WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER stock_levels_guard_insert AFTER INSERT ON stock_levels WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER stock_levels_guard_update AFTER UPDATE ON stock_levels WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER stock_levels_guard_delete AFTER DELETE ON stock_levels WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
