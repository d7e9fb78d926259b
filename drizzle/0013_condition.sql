-- A mirror that is stopped says so at once, instead of when its heartbeat has grown old.
ALTER TABLE `service_state` ADD COLUMN `stopped_at_ms` integer;
--> statement-breakpoint
-- How many stock levels were certain: the worst of each quarter of an hour, so that a restart does not forget it.
CREATE TABLE `certainty` (
	`quarter` integer PRIMARY KEY NOT NULL,
	`certain` integer NOT NULL,
	`levels` integer NOT NULL
) STRICT;
--> statement-breakpoint
DROP VIEW IF EXISTS mirror_status;
--> statement-breakpoint
DROP VIEW IF EXISTS state_cause;
--> statement-breakpoint
-- As before, but for `stopped_at_ms`.
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
    SELECT 1 FROM obligations WHERE doubt = 1 AND first_made_at_ms < now.ms - 900000 AND product_id NOT IN (SELECT product_id FROM given_up_reads)
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
      SELECT count(*) FROM obligations o WHERE NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) + (
      SELECT count(DISTINCT v.product_id) FROM gaps g CROSS JOIN variants v ON v.variant_id = g.variant_id
      WHERE NOT EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id) AND NOT EXISTS (
        SELECT 1 FROM products p
        WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < barrier.ms
      )
    ) FROM barrier
  ) + (SELECT count(*) FROM variants WHERE lookup_at_ms IS NOT NULL)
  + (m.bundles_due_at_ms IS NOT NULL) + (m.canary_due_at_ms IS NOT NULL) AS pending_reads,
  CASE WHEN (
    SELECT count(*) FROM (SELECT 1 FROM products p WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state) LIMIT 5001)
  ) <= 5000 THEN (
    SELECT coalesce(sum(pc.cells), 0) FROM products p CROSS JOIN product_cells pc ON pc.product_id = p.product_id
    WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
  ) ELSE (
    SELECT coalesce(sum(pc.cells), 0) FROM product_cells pc CROSS JOIN products p ON pc.product_id = p.product_id
    WHERE p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)
  ) END + (
    SELECT coalesce(sum(pc.cells), 0) FROM obligations o CROSS JOIN product_cells pc ON pc.product_id = o.product_id
    WHERE o.doubt = 1 AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = o.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state))
  ) + (
    SELECT count(DISTINCT g.variant_id || '/' || g.warehouse_id) FROM gaps g
    CROSS JOIN variants v ON v.variant_id = g.variant_id
    WHERE v.product_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1) AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state))
  ) + (
    SELECT count(*) FROM cells c CROSS JOIN variants v ON v.variant_id = c.variant_id
    WHERE c.unexplained_at_ms IS NOT NULL AND c.gone_at_ms IS NULL AND v.product_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM obligations o WHERE o.product_id = v.product_id AND o.doubt = 1) AND NOT EXISTS (SELECT 1 FROM products p WHERE p.product_id = v.product_id AND p.gone_at_ms IS NULL AND p.read_at_ms < (SELECT trusted_after_ms FROM mirror_state)) AND NOT EXISTS (SELECT 1 FROM gaps g WHERE g.variant_id = c.variant_id AND g.warehouse_id = c.warehouse_id)
  ) + (
    SELECT count(*) FROM variants v CROSS JOIN cells c ON c.variant_id = v.variant_id
    WHERE v.product_id IS NULL AND c.gone_at_ms IS NULL
  ) AS suspect_count,
  (SELECT count(*) FROM gaps) AS open_gaps,
  m.change_seq AS last_seq,
  s.alive_at_ms AS alive_at
FROM mirror_state m, service_state s;
--> statement-breakpoint
CREATE TRIGGER certainty_guard_insert AFTER INSERT ON certainty WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER certainty_guard_update AFTER UPDATE ON certainty WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER certainty_guard_delete AFTER DELETE ON certainty WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
