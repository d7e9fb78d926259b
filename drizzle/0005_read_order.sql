-- Until the first answer of this version nothing is known of when the last one was received: of two reads within two
-- seconds, one before the upgrade and one after it, the one sent later counts, as before.
ALTER TABLE `mirror_state` ADD `date_contradictions` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `products` ADD `read_until_ms` integer DEFAULT -8640000000000000 NOT NULL;--> statement-breakpoint
ALTER TABLE `variants` ADD `total_hi_ms` integer DEFAULT -8640000000000000 NOT NULL;