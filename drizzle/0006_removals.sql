-- For the guard against mass removal, which counts variants and levels as it counts products; and for levels that webhooks
-- alone name. On a tombstone `missing_at_ms` has a meaning of its own from now on: a newer change named it then.
ALTER TABLE `cells` ADD `unseen_reads` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `cells_missing` ON `cells` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
ALTER TABLE `mirror_state` ADD `variant_removals_in_window` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `mirror_state` ADD `cell_removals_in_window` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `variants_missing` ON `variants` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
UPDATE `cells` SET `missing_at_ms` = NULL WHERE `gone_at_ms` IS NOT NULL AND `missing_at_ms` IS NOT NULL;--> statement-breakpoint
UPDATE `variants` SET `missing_at_ms` = NULL WHERE `gone_at_ms` IS NOT NULL AND `missing_at_ms` IS NOT NULL;
