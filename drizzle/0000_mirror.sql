CREATE TABLE `cells` (
	`variant_id` text NOT NULL,
	`warehouse_id` text NOT NULL,
	`qty` integer NOT NULL,
	`source` text NOT NULL,
	`as_of_ms` integer NOT NULL,
	`event_time_ms` integer NOT NULL,
	`event_old` integer NOT NULL,
	`event_count` integer NOT NULL,
	`event_seq` integer NOT NULL,
	`event_at_ms` integer NOT NULL,
	`read_lo_ms` integer NOT NULL,
	`read_hi_ms` integer NOT NULL,
	`verified_at_ms` integer,
	`on_hand` integer,
	`reserved_qty` integer,
	`on_hand_as_of_ms` integer,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`unexplained_at_ms` integer,
	`change_seq` integer NOT NULL,
	PRIMARY KEY(`variant_id`, `warehouse_id`),
	CONSTRAINT "cells_source" CHECK(source IN ('webhook', 'read'))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cells_change_seq` ON `cells` (`change_seq`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `cells_unexplained` ON `cells` (`unexplained_at_ms`) WHERE unexplained_at_ms IS NOT NULL;--> statement-breakpoint
CREATE TABLE `changes` (
	`seq` integer PRIMARY KEY NOT NULL,
	`log_seq` integer NOT NULL,
	`variant_id` text NOT NULL,
	`warehouse_id` text,
	`sku` text,
	`old_qty` integer,
	`new_qty` integer,
	`source` text NOT NULL,
	`reason` text,
	`order_id` text,
	`user_id` text,
	`update_time_ms` integer,
	`recorded_at_ms` integer NOT NULL,
	`request_id` text
) STRICT;
--> statement-breakpoint
CREATE TABLE `gaps` (
	`variant_id` text NOT NULL,
	`warehouse_id` text NOT NULL,
	`opened_seq` integer NOT NULL,
	`opened_at_ms` integer NOT NULL,
	`due_at_ms` integer NOT NULL,
	`from_qty` integer NOT NULL,
	`to_qty` integer NOT NULL,
	PRIMARY KEY(`variant_id`, `warehouse_id`, `opened_seq`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `gaps_due` ON `gaps` (`due_at_ms`);--> statement-breakpoint
CREATE TABLE `log` (
	`seq` integer PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`at_ms` integer NOT NULL,
	`body_hash` blob,
	`payload` blob NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `log_body_hash` ON `log` (`body_hash`) WHERE body_hash IS NOT NULL;--> statement-breakpoint
CREATE TABLE `mirror_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`change_seq` integer NOT NULL,
	`store_id` text,
	`last_delivery_at_ms` integer,
	`offset_window_start_ms` integer NOT NULL,
	`offset_floor_ms` integer,
	`offset_floor_previous_ms` integer,
	`offset_ceiling_ms` integer,
	`lateness_ms` integer NOT NULL,
	`trusted_after_ms` integer NOT NULL,
	`loss_proved_at_ms` integer,
	`canary_due_at_ms` integer,
	`canary_sent_at_ms` integer NOT NULL,
	`canary_doubt_seq` integer NOT NULL,
	`canary_doubt_at_ms` integer NOT NULL,
	`bundles_due_at_ms` integer,
	`removal_window_start_ms` integer NOT NULL,
	`removals_in_window` integer NOT NULL,
	`removals_allowed_until_ms` integer NOT NULL,
	CONSTRAINT "mirror_state_single" CHECK(id = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `obligations` (
	`product_id` text PRIMARY KEY NOT NULL,
	`reason` text NOT NULL,
	`priority` integer NOT NULL,
	`doubt` integer NOT NULL,
	`made_seq` integer NOT NULL,
	`made_at_ms` integer NOT NULL,
	`first_made_at_ms` integer NOT NULL,
	`not_before_ms` integer NOT NULL,
	CONSTRAINT "obligations_doubt" CHECK(doubt IN (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `obligations_queue` ON `obligations` (`priority`,`first_made_at_ms`);--> statement-breakpoint
CREATE TABLE `product_details` (
	`product_id` text PRIMARY KEY NOT NULL,
	`detail_json` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `products` (
	`product_id` text PRIMARY KEY NOT NULL,
	`name` text,
	`parent_id` text,
	`update_time_ms` integer,
	`read_seq` integer NOT NULL,
	`read_at_ms` integer NOT NULL,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`has_bundle` integer NOT NULL,
	CONSTRAINT "products_bundle_flag" CHECK(has_bundle IN (0, 1))
) STRICT;
--> statement-breakpoint
CREATE INDEX `products_read_at` ON `products` (`read_at_ms`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `products_missing` ON `products` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `products_bundle` ON `products` (`product_id`) WHERE has_bundle = 1 AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE TABLE `quarantine` (
	`id` integer PRIMARY KEY NOT NULL,
	`log_seq` integer NOT NULL,
	`item_index` integer,
	`problem` text NOT NULL,
	`variant_id` text
) STRICT;
--> statement-breakpoint
CREATE TABLE `read_failures` (
	`product_id` text PRIMARY KEY NOT NULL,
	`attempts` integer NOT NULL,
	`faults` integer NOT NULL,
	`next_at_ms` integer NOT NULL,
	`parked` integer NOT NULL,
	`error` text NOT NULL,
	`failed_at_ms` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `read_failures_next` ON `read_failures` (`next_at_ms`);--> statement-breakpoint
CREATE TABLE `runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`state` text NOT NULL,
	`started_at_ms` integer NOT NULL,
	`finished_at_ms` integer,
	`read_after_ms` integer NOT NULL,
	`product_ids_json` text,
	`list_offset` integer NOT NULL,
	`list_last_id` text,
	`list_done` integer NOT NULL,
	`started_seq` integer NOT NULL,
	`total` integer NOT NULL,
	`done` integer NOT NULL,
	`drift` integer NOT NULL,
	`failed` integer NOT NULL,
	`error` text,
	CONSTRAINT "runs_state_known" CHECK(state IN ('running', 'done', 'failed')),
	CONSTRAINT "runs_kind_known" CHECK(kind IN ('initial', 'downtime', 'restart', 'scheduled', 'operator', 'products'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `runs_state` ON `runs` (`state`);--> statement-breakpoint
CREATE TABLE `service_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` text NOT NULL,
	`file_inode` text,
	`file_born_at_ms` integer,
	`alive_at_ms` integer,
	`last_full_sync_at_ms` integer,
	CONSTRAINT "service_state_single" CHECK(id = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `variants` (
	`variant_id` text PRIMARY KEY NOT NULL,
	`product_id` text,
	`sku` text,
	`upc` text,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`available_qty` integer,
	`on_hand` integer,
	`reserved_qty` integer,
	`allow_negative_stock` integer NOT NULL,
	`price_json` text,
	`cost` text,
	`bundled_by_count` integer NOT NULL,
	`as_of_ms` integer NOT NULL,
	`verified_at_ms` integer,
	`event_seq` integer NOT NULL,
	`event_at_ms` integer NOT NULL,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`lookup_at_ms` integer,
	`change_seq` integer NOT NULL,
	CONSTRAINT "variants_kind" CHECK(kind IN ('own', 'pulled', 'bundle', 'assembled')),
	CONSTRAINT "variants_negative" CHECK(allow_negative_stock IN (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `variants_product` ON `variants` (`product_id`);--> statement-breakpoint
CREATE INDEX `variants_sku` ON `variants` (`sku`);--> statement-breakpoint
CREATE INDEX `variants_change_seq` ON `variants` (`change_seq`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_lookup` ON `variants` (`lookup_at_ms`) WHERE lookup_at_ms IS NOT NULL;
--> statement-breakpoint
INSERT INTO `mirror_state` (`id`, `change_seq`, `offset_window_start_ms`, `lateness_ms`, `trusted_after_ms`, `canary_sent_at_ms`, `canary_doubt_seq`, `canary_doubt_at_ms`, `removal_window_start_ms`, `removals_in_window`, `removals_allowed_until_ms`)
VALUES (1, 0, 0, 1500, -8640000000000000, 0, 0, -8640000000000000, 0, 0, 0);
--> statement-breakpoint
INSERT INTO `service_state` (`id`, `epoch`) VALUES (1, lower(hex(randomblob(8))));
--> statement-breakpoint
-- Products under suspicion as a whole: a doubt is on record, or nobody listened since they were last read.
CREATE VIEW `doubtful_products` (`product_id`) AS
SELECT `product_id` FROM `obligations` WHERE `doubt` = 1
UNION
SELECT `product_id` FROM `products`
WHERE `gone_at_ms` IS NULL AND `read_at_ms` < (SELECT `trusted_after_ms` FROM `mirror_state`);
--> statement-breakpoint
CREATE VIEW `mirror_stock` AS
SELECT
	c.`variant_id` AS `variant_id`,
	c.`warehouse_id` AS `warehouse_id`,
	v.`product_id` AS `product_id`,
	v.`sku` AS `sku`,
	p.`name` AS `product_name`,
	v.`name` AS `variant_name`,
	c.`qty` AS `available_qty`,
	c.`on_hand` AS `on_hand`,
	c.`reserved_qty` AS `reserved_qty`,
	c.`source` AS `source`,
	c.`as_of_ms` AS `as_of`,
	c.`on_hand_as_of_ms` AS `on_hand_as_of`,
	c.`verified_at_ms` AS `verified_at`,
	(
		v.`product_id` IS NULL
		OR c.`unexplained_at_ms` IS NOT NULL
		OR coalesce(p.`read_at_ms` < (SELECT `trusted_after_ms` FROM `mirror_state`), 1)
		OR EXISTS (SELECT 1 FROM `obligations` o WHERE o.`product_id` = v.`product_id` AND o.`doubt` = 1)
		OR EXISTS (SELECT 1 FROM `gaps` g WHERE g.`variant_id` = c.`variant_id` AND g.`warehouse_id` = c.`warehouse_id`)
	) AS `suspect`,
	c.`change_seq` AS `change_seq`
FROM `cells` c
JOIN `variants` v ON v.`variant_id` = c.`variant_id`
LEFT JOIN `products` p ON p.`product_id` = v.`product_id`
WHERE c.`gone_at_ms` IS NULL;
--> statement-breakpoint
CREATE VIEW `mirror_variants` AS
SELECT
	v.`variant_id` AS `variant_id`,
	v.`product_id` AS `product_id`,
	v.`sku` AS `sku`,
	v.`upc` AS `upc`,
	p.`name` AS `product_name`,
	v.`name` AS `variant_name`,
	v.`kind` AS `kind`,
	v.`available_qty` AS `available_qty`,
	v.`on_hand` AS `on_hand`,
	v.`reserved_qty` AS `reserved_qty`,
	v.`allow_negative_stock` AS `allow_negative_stock`,
	v.`price_json` AS `price_json`,
	v.`cost` AS `cost`,
	v.`as_of_ms` AS `as_of`,
	v.`verified_at_ms` AS `verified_at`,
	(
		coalesce(p.`read_at_ms` < (SELECT `trusted_after_ms` FROM `mirror_state`), 1)
		OR EXISTS (SELECT 1 FROM `obligations` o WHERE o.`product_id` = v.`product_id` AND o.`doubt` = 1)
		OR EXISTS (SELECT 1 FROM `gaps` g WHERE g.`variant_id` = v.`variant_id`)
	) AS `suspect`,
	v.`change_seq` AS `change_seq`
FROM `variants` v
LEFT JOIN `products` p ON p.`product_id` = v.`product_id`
WHERE v.`gone_at_ms` IS NULL AND v.`product_id` IS NOT NULL AND v.`available_qty` IS NOT NULL;
--> statement-breakpoint
CREATE VIEW `mirror_products` AS
SELECT
	p.`product_id` AS `product_id`,
	p.`name` AS `name`,
	p.`parent_id` AS `parent_id`,
	p.`update_time_ms` AS `update_time`,
	p.`read_at_ms` AS `verified_at`,
	d.`detail_json` AS `detail_json`
FROM `products` p
JOIN `product_details` d ON d.`product_id` = p.`product_id`
WHERE p.`gone_at_ms` IS NULL;
--> statement-breakpoint
CREATE VIEW `mirror_changes` AS
SELECT
	`seq` AS `seq`,
	`variant_id` AS `variant_id`,
	`warehouse_id` AS `warehouse_id`,
	`sku` AS `sku`,
	`old_qty` AS `old_qty`,
	`new_qty` AS `new_qty`,
	`source` AS `source`,
	`reason` AS `reason`,
	`order_id` AS `order_id`,
	`user_id` AS `user_id`,
	`update_time_ms` AS `update_time`,
	`recorded_at_ms` AS `recorded_at`,
	`request_id` AS `request_id`
FROM `changes`;
--> statement-breakpoint
-- Products whose reads the service refuses, or that failed over and over. They are tried again, but nothing waits for them.
CREATE VIEW `given_up_reads` (`product_id`) AS
SELECT `product_id` FROM `read_failures` WHERE `parked` = 1 OR `faults` >= 10;
--> statement-breakpoint
-- stale: nobody keeps the mirror at this moment, or a doubt has waited for its read for over 15 minutes.
-- catching_up: a product was not read since the mirror last did not listen, or the catalogue was never read whole.
-- A read that is given up holds neither up, for its rows stay suspect; more than one, and than 5 % of the catalogue, is stale.
CREATE VIEW `mirror_status` AS
WITH `now` (`ms`) AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
SELECT
	s.`epoch` AS `epoch`,
	(SELECT count(*) FROM `__drizzle_migrations`) AS `schema_version`,
	CASE
		WHEN s.`alive_at_ms` IS NULL OR s.`alive_at_ms` < now.`ms` - 10000 THEN 'stale'
		WHEN s.`last_full_sync_at_ms` IS NULL
			OR EXISTS (
				SELECT 1 FROM `products` WHERE `gone_at_ms` IS NULL AND `read_at_ms` < m.`trusted_after_ms`
					AND `product_id` NOT IN (SELECT `product_id` FROM `given_up_reads`)
			) THEN 'catching_up'
		WHEN EXISTS (
			SELECT 1 FROM `obligations` WHERE `doubt` = 1 AND `first_made_at_ms` < now.`ms` - 900000
				AND `product_id` NOT IN (SELECT `product_id` FROM `given_up_reads`)
		) OR (
			SELECT count(*) FROM `given_up_reads` g JOIN `products` p ON p.`product_id` = g.`product_id`
			WHERE p.`gone_at_ms` IS NULL
		) > max(1, (SELECT count(*) FROM `products` WHERE `gone_at_ms` IS NULL) / 20) THEN 'stale'
		ELSE 'live'
	END AS `state`,
	m.`last_delivery_at_ms` AS `last_delivery_at`,
	s.`last_full_sync_at_ms` AS `last_full_sync_at`,
	(SELECT min(`read_at_ms`) FROM `products` WHERE `gone_at_ms` IS NULL AND `read_at_ms` > 0) AS `oldest_verified_at`,
	(
		SELECT count(*) FROM (
			SELECT `product_id` FROM `obligations`
			UNION
			SELECT `product_id` FROM `products`
			WHERE `gone_at_ms` IS NULL AND `read_at_ms` < max(
				m.`trusted_after_ms`,
				coalesce((SELECT max(`read_after_ms`) FROM `runs` WHERE `state` = 'running' AND `product_ids_json` IS NULL), m.`trusted_after_ms`)
			)
			UNION
			SELECT v.`product_id` FROM `gaps` g JOIN `variants` v ON v.`variant_id` = g.`variant_id` WHERE v.`product_id` IS NOT NULL
		)
	) + (SELECT count(*) FROM `variants` WHERE `lookup_at_ms` IS NOT NULL)
	+ (m.`bundles_due_at_ms` IS NOT NULL) + (m.`canary_due_at_ms` IS NOT NULL) AS `pending_reads`,
	(
		SELECT count(*) FROM `cells` c JOIN `variants` v ON v.`variant_id` = c.`variant_id`
		WHERE c.`gone_at_ms` IS NULL AND v.`product_id` IN (SELECT `product_id` FROM `doubtful_products`)
	) + (
		SELECT count(DISTINCT g.`variant_id` || '/' || g.`warehouse_id`) FROM `gaps` g
		JOIN `variants` v ON v.`variant_id` = g.`variant_id`
		WHERE v.`product_id` IS NOT NULL AND v.`product_id` NOT IN (SELECT `product_id` FROM `doubtful_products`)
	) + (
		SELECT count(*) FROM `cells` c JOIN `variants` v ON v.`variant_id` = c.`variant_id`
		WHERE c.`unexplained_at_ms` IS NOT NULL AND c.`gone_at_ms` IS NULL
			AND v.`product_id` IS NOT NULL AND v.`product_id` NOT IN (SELECT `product_id` FROM `doubtful_products`)
			AND NOT EXISTS (SELECT 1 FROM `gaps` g WHERE g.`variant_id` = c.`variant_id` AND g.`warehouse_id` = c.`warehouse_id`)
	) + (
		SELECT count(*) FROM `variants` v JOIN `cells` c ON c.`variant_id` = v.`variant_id`
		WHERE v.`product_id` IS NULL AND c.`gone_at_ms` IS NULL
	) AS `suspect_count`,
	(SELECT count(*) FROM `gaps`) AS `open_gaps`,
	m.`change_seq` AS `last_seq`,
	s.`alive_at_ms` AS `alive_at`
FROM `mirror_state` m, `service_state` s, now;
