-- The event log is a file of its own now, which the start has filled from this table before it comes here.
ALTER TABLE `mirror_state` ADD `applied_seq` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE `mirror_state` SET `applied_seq` = (SELECT coalesce(max(`seq`), 0) FROM `log`);
--> statement-breakpoint
DROP TABLE `log`;
--> statement-breakpoint
ALTER TABLE `service_state` DROP COLUMN `file_inode`;
--> statement-breakpoint
ALTER TABLE `service_state` DROP COLUMN `file_born_at_ms`;
