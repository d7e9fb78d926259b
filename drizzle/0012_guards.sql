-- The file is open to the programs that read it, and one of them, or a person at a shell, may write by mistake. What was noted
-- and repaired is refused from now on, by triggers on every table (src/mirror/file/guards.ts).
DROP TRIGGER `cells_edited_insert`;
--> statement-breakpoint
DROP TRIGGER `variants_edited_insert`;
--> statement-breakpoint
DROP TRIGGER `products_edited_insert`;
--> statement-breakpoint
DROP TRIGGER `cells_edited_update`;
--> statement-breakpoint
DROP TRIGGER `variants_edited_update`;
--> statement-breakpoint
DROP TRIGGER `products_edited_update`;
--> statement-breakpoint
DROP TRIGGER `cells_edited_delete`;
--> statement-breakpoint
DROP TRIGGER `variants_edited_delete`;
--> statement-breakpoint
DROP TRIGGER `products_edited_delete`;
--> statement-breakpoint
-- What was noted and not repaired yet is read again.
INSERT OR IGNORE INTO `obligations` (`product_id`, `reason`, `priority`, `doubt`, `made_seq`, `made_at_ms`, `first_made_at_ms`, `not_before_ms`)
SELECT h.`product_id`, 'conflict', 1, 1, m.`applied_seq`, now.`ms`, now.`ms`, now.`ms` + 2000
FROM `hand_edits` h, `mirror_state` m, (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS `ms`) now;
--> statement-breakpoint
DROP TABLE `hand_edits`;
--> statement-breakpoint
CREATE TRIGGER cells_guard_insert AFTER INSERT ON cells WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER cells_guard_update AFTER UPDATE ON cells WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER cells_guard_delete AFTER DELETE ON cells WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER changes_guard_update AFTER UPDATE ON changes WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER changes_guard_delete AFTER DELETE ON changes WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER gaps_guard_insert AFTER INSERT ON gaps WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER gaps_guard_update AFTER UPDATE ON gaps WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER gaps_guard_delete AFTER DELETE ON gaps WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER given_up_reads_guard_insert AFTER INSERT ON given_up_reads WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER given_up_reads_guard_update AFTER UPDATE ON given_up_reads WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER given_up_reads_guard_delete AFTER DELETE ON given_up_reads WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER live_counts_guard_delete AFTER DELETE ON live_counts WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER mirror_state_guard_insert AFTER INSERT ON mirror_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER mirror_state_guard_update AFTER UPDATE ON mirror_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER mirror_state_guard_delete AFTER DELETE ON mirror_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER obligations_guard_insert AFTER INSERT ON obligations WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER obligations_guard_update AFTER UPDATE ON obligations WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER obligations_guard_delete AFTER DELETE ON obligations WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER own_write_guard_insert AFTER INSERT ON own_write
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER own_write_guard_delete AFTER DELETE ON own_write
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER product_cells_guard_delete AFTER DELETE ON product_cells WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER product_details_guard_insert AFTER INSERT ON product_details WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER product_details_guard_update AFTER UPDATE ON product_details WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER product_details_guard_delete AFTER DELETE ON product_details WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER products_guard_insert AFTER INSERT ON products WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER products_guard_update AFTER UPDATE ON products WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER products_guard_delete AFTER DELETE ON products WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER quarantine_guard_insert AFTER INSERT ON quarantine WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER quarantine_guard_update AFTER UPDATE ON quarantine WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER quarantine_guard_delete AFTER DELETE ON quarantine WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_failures_guard_insert AFTER INSERT ON read_failures WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_failures_guard_update AFTER UPDATE ON read_failures WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER read_failures_guard_delete AFTER DELETE ON read_failures WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER runs_guard_insert AFTER INSERT ON runs WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER runs_guard_update AFTER UPDATE ON runs WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER runs_guard_delete AFTER DELETE ON runs WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER service_state_guard_insert AFTER INSERT ON service_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER service_state_guard_update AFTER UPDATE ON service_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER service_state_guard_delete AFTER DELETE ON service_state WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER variants_guard_insert AFTER INSERT ON variants WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER variants_guard_update AFTER UPDATE ON variants WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER variants_guard_delete AFTER DELETE ON variants WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
