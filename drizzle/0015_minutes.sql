-- What the plots of the page show of each minute of the last week, so that a restart does not forget it.
CREATE TABLE `minutes` (
	`minute` integer PRIMARY KEY NOT NULL,
	`figures_json` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TRIGGER minutes_guard_insert AFTER INSERT ON minutes WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER minutes_guard_update AFTER UPDATE ON minutes WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
--> statement-breakpoint
CREATE TRIGGER minutes_guard_delete AFTER DELETE ON minutes WHEN (SELECT is_open FROM own_write) = 0
BEGIN
  SELECT RAISE(ABORT, 'this file is kept by stock-mirror alone, and nothing was changed: open it read-only (mode=ro), and keep tables of your own in a file of your own');
END;
