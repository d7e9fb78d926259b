DROP INDEX `changes_variant`;
--> statement-breakpoint
-- In shares of the feed: a change is indexed among the last few thousand, which are in memory, not among all there are.
CREATE INDEX `changes_variant` ON `changes` (`seq` >> 13, `variant_id`);
--> statement-breakpoint
-- Makes sqlite_stat1 when it is missing.
ANALYZE `sqlite_schema`;
--> statement-breakpoint
-- That a share has 8192 rows, and a variant some of them, lets SQLite look for a variant through all shares, one by one
-- ("skip-scan"): `WHERE variant_id = ?` stays a search, in every program that reads the file.
INSERT INTO `sqlite_stat1` (`tbl`, `idx`, `stat`) VALUES ('changes', 'changes_variant', '10000000 8192 2');
