CREATE TABLE `changes` (
	`seq` integer PRIMARY KEY NOT NULL,
	`inbox_seq` integer,
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
);
--> statement-breakpoint
CREATE INDEX `changes_variant` ON `changes` (seq >> 13,`variant_id`);--> statement-breakpoint
CREATE INDEX `changes_corrected` ON `changes` (`reason`) WHERE source = 'read' AND reason <> 'first_read';--> statement-breakpoint
CREATE INDEX `changes_recorded` ON `changes` (`recorded_at_ms`);--> statement-breakpoint
CREATE TABLE `dead_letters` (
	`id` integer PRIMARY KEY NOT NULL,
	`inbox_seq` integer NOT NULL,
	`arrived_at_ms` integer NOT NULL,
	`item_index` integer,
	`problem` text NOT NULL,
	`variant_id` text
);
--> statement-breakpoint
CREATE INDEX `dead_letters_delivery` ON `dead_letters` (`inbox_seq`);--> statement-breakpoint
CREATE TABLE `deliveries` (
	`inbox_seq` integer PRIMARY KEY NOT NULL,
	`outcomes` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `due_reads` (
	`product_id` text PRIMARY KEY NOT NULL,
	`reason` text NOT NULL,
	`priority` integer NOT NULL,
	`is_suspect` integer NOT NULL,
	`made_at_ms` integer NOT NULL,
	`first_made_at_ms` integer NOT NULL,
	`not_before_ms` integer NOT NULL,
	`held` integer GENERATED ALWAYS AS (not_before_ms >= 8640000000000000) VIRTUAL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`faults` integer DEFAULT 0 NOT NULL,
	`retry_at_ms` integer DEFAULT 0 NOT NULL,
	`parked` integer DEFAULT 0 NOT NULL,
	`given_up` integer DEFAULT 0 NOT NULL,
	`failed_at_ms` integer,
	`last_error` text,
	CONSTRAINT "due_reads_suspect" CHECK(is_suspect IN (0, 1))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `due_reads_queue` ON `due_reads` (`priority`,`attempts`,`first_made_at_ms`);--> statement-breakpoint
CREATE INDEX `due_reads_suspect` ON `due_reads` (`product_id`) WHERE is_suspect = 1;--> statement-breakpoint
CREATE INDEX `due_reads_failed` ON `due_reads` (`failed_at_ms`) WHERE failed_at_ms IS NOT NULL;--> statement-breakpoint
CREATE INDEX `due_reads_held` ON `due_reads` (`product_id`) WHERE held = 1;--> statement-breakpoint
CREATE TABLE `gaps` (
	`variant_id` text NOT NULL,
	`warehouse_id` text NOT NULL,
	`inbox_seq` integer NOT NULL,
	`kind` text DEFAULT 'loss' NOT NULL,
	`opened_at_ms` integer NOT NULL,
	`due_at_ms` integer NOT NULL,
	`from_qty` integer NOT NULL,
	`to_qty` integer NOT NULL,
	PRIMARY KEY(`variant_id`, `warehouse_id`, `inbox_seq`, `kind`),
	CONSTRAINT "gaps_kind" CHECK(kind IN ('loss', 'order'))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `gaps_due` ON `gaps` (`due_at_ms`);--> statement-breakpoint
CREATE TABLE `live_counts` (
	`id` integer PRIMARY KEY NOT NULL,
	`products` integer NOT NULL,
	`variants` integer NOT NULL,
	`levels` integer NOT NULL,
	`sellable` integer NOT NULL,
	CONSTRAINT "live_counts_single" CHECK(id = 1)
);
--> statement-breakpoint
CREATE TABLE `minutes` (
	`minute` integer PRIMARY KEY NOT NULL,
	`values_json` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `mirror_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`applied_seq` integer NOT NULL,
	`inbox_seq` integer NOT NULL,
	`change_seq` integer NOT NULL,
	`store_id` text,
	`last_delivery_at_ms` integer,
	`unreadable_at_ms` integer,
	`offset_window_start_ms` integer NOT NULL,
	`offset_floor_ms` integer,
	`offset_floor_previous_ms` integer,
	`offset_ceiling_ms` integer,
	`stamped_until_ms` integer,
	`date_contradictions` integer NOT NULL,
	`lateness_ms` integer NOT NULL,
	`trusted_after_ms` integer NOT NULL,
	`bundles_due_at_ms` integer,
	`bundles_made_at_ms` integer,
	`listed_from_ms` integer NOT NULL,
	`removal_window_start_ms` integer NOT NULL,
	`removed_in_window` integer NOT NULL,
	`way_in` text NOT NULL,
	`way_in_since_ms` integer NOT NULL,
	`last_webhook_at_ms` integer,
	`mean_gap_ms` integer NOT NULL,
	`untold_json` text,
	`secrets_json` text NOT NULL,
	CONSTRAINT "mirror_state_single" CHECK(id = 1),
	CONSTRAINT "mirror_state_way_in" CHECK(way_in IN ('proven', 'unproven', 'missing'))
);
--> statement-breakpoint
CREATE TABLE `product_details` (
	`product_id` text PRIMARY KEY NOT NULL,
	`detail_json` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `products` (
	`product_id` text PRIMARY KEY NOT NULL,
	`name` text,
	`parent_id` text,
	`update_time_ms` integer,
	`read_at_ms` integer NOT NULL,
	`read_until_ms` integer DEFAULT -8640000000000000 NOT NULL,
	`evidence_at_ms` integer DEFAULT -8640000000000000 NOT NULL,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`has_bundle` integer NOT NULL,
	`conflict_reads` integer DEFAULT 0 NOT NULL,
	`removal_allowed_by` text,
	CONSTRAINT "products_bundle_flag" CHECK(has_bundle IN (0, 1))
);
--> statement-breakpoint
CREATE INDEX `products_read_at` ON `products` (`read_at_ms`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `products_evidence` ON `products` (`evidence_at_ms`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `products_missing` ON `products` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `products_bundle` ON `products` (`product_id`) WHERE has_bundle = 1 AND gone_at_ms IS NULL;--> statement-breakpoint
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
	`list_gap` text,
	`total` integer NOT NULL,
	`done` integer NOT NULL,
	`compared` integer DEFAULT 0 NOT NULL,
	`differences_json` text DEFAULT '{}' NOT NULL,
	`removed` integer DEFAULT 0 NOT NULL,
	`allowed_by` text,
	`allowed_why` text,
	`failed` integer NOT NULL,
	`error` text,
	CONSTRAINT "runs_state_known" CHECK(state IN ('running', 'done', 'failed')),
	CONSTRAINT "runs_kind_known" CHECK(kind IN ('initial', 'downtime', 'scheduled', 'search', 'operator', 'products'))
);
--> statement-breakpoint
CREATE INDEX `runs_state` ON `runs` (`state`);--> statement-breakpoint
CREATE TABLE `service_state` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` text NOT NULL,
	`alive_at_ms` integer,
	`clock_ms` integer,
	`last_full_sync_at_ms` integer,
	`pruned_change_seq` integer DEFAULT 0 NOT NULL,
	`state` text DEFAULT 'stale' NOT NULL,
	`state_cause` text DEFAULT 'starting',
	`causes_json` text DEFAULT '[{"code":"starting"}]' NOT NULL,
	`is_backup` integer DEFAULT 0 NOT NULL,
	`checked_since_ms` integer DEFAULT -8640000000000000 NOT NULL,
	`inbox_id` text,
	`inbox_row_at_ms` integer,
	`inbox_prunable_seq` integer DEFAULT 0 NOT NULL,
	CONSTRAINT "service_state_single" CHECK(id = 1),
	CONSTRAINT "service_state_known" CHECK(state IN ('live', 'catching_up', 'stale'))
);
--> statement-breakpoint
CREATE TABLE `stock_levels` (
	`variant_id` text NOT NULL,
	`warehouse_id` text NOT NULL,
	`qty` integer NOT NULL,
	`source` text NOT NULL,
	`as_of_ms` integer NOT NULL,
	`event_time_ms` integer NOT NULL,
	`event_old` integer NOT NULL,
	`event_count` integer NOT NULL,
	`event_at_ms` integer NOT NULL,
	`read_lo_ms` integer NOT NULL,
	`read_hi_ms` integer NOT NULL,
	`read_at_ms` integer NOT NULL,
	`verified_at_ms` integer,
	`on_hand` integer,
	`reserved_qty` integer,
	`on_hand_as_of_ms` integer,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`change_seq` integer NOT NULL,
	PRIMARY KEY(`variant_id`, `warehouse_id`),
	CONSTRAINT "stock_levels_source" CHECK(source IN ('webhook', 'read'))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `stock_levels_change_seq` ON `stock_levels` (`change_seq`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `stock_levels_missing` ON `stock_levels` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
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
	`total_hi_ms` integer DEFAULT -8640000000000000 NOT NULL,
	`event_at_ms` integer NOT NULL,
	`missing_at_ms` integer,
	`gone_at_ms` integer,
	`lookup_at_ms` integer,
	`change_seq` integer NOT NULL,
	`live_levels` integer DEFAULT 0 NOT NULL,
	`sold_as_total` integer GENERATED ALWAYS AS (kind NOT IN ('own', 'assembled') OR total_hi_ms > -8640000000000000 OR live_levels = 0) VIRTUAL,
	`sellable_rows` integer GENERATED ALWAYS AS (CASE WHEN sold_as_total THEN gone_at_ms IS NULL AND available_qty IS NOT NULL ELSE live_levels END) VIRTUAL,
	CONSTRAINT "variants_kind" CHECK(kind IN ('own', 'pulled', 'bundle', 'assembled')),
	CONSTRAINT "variants_negative" CHECK(allow_negative_stock IN (0, 1))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `variants_product` ON `variants` (`product_id`);--> statement-breakpoint
CREATE INDEX `variants_sku` ON `variants` (`sku`);--> statement-breakpoint
CREATE INDEX `variants_change_seq` ON `variants` (`change_seq`) WHERE gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_sold_as_total` ON `variants` (`change_seq`) WHERE sold_as_total = 1 AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_sold_as_total_id` ON `variants` (`variant_id`) WHERE sold_as_total = 1 AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_unlisted` ON `variants` (`variant_id`) WHERE sold_as_total = 1 AND live_levels > 0;--> statement-breakpoint
CREATE INDEX `variants_unmapped` ON `variants` (`variant_id`) WHERE product_id IS NULL AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_bundle` ON `variants` (`variant_id`) WHERE kind = 'bundle' AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE INDEX `variants_lookup` ON `variants` (`lookup_at_ms`) WHERE lookup_at_ms IS NOT NULL;--> statement-breakpoint
CREATE INDEX `variants_missing` ON `variants` (`missing_at_ms`) WHERE missing_at_ms IS NOT NULL AND gone_at_ms IS NULL;--> statement-breakpoint
CREATE TABLE `warehouse_names` (
	`warehouse_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `mirror_state` (`id`, `applied_seq`, `inbox_seq`, `change_seq`, `offset_window_start_ms`, `date_contradictions`, `lateness_ms`, `trusted_after_ms`, `listed_from_ms`, `removal_window_start_ms`, `removed_in_window`, `way_in`, `way_in_since_ms`, `mean_gap_ms`, `secrets_json`)
VALUES (1, 0, 0, 0, 0, 0, 1500, -8640000000000000, -8640000000000000, 0, 0, 'unproven', 0, 3000, '[]');
--> statement-breakpoint
INSERT INTO `service_state` (`id`, `epoch`) VALUES (1, lower(hex(randomblob(8))));
--> statement-breakpoint
INSERT INTO `live_counts` (`id`, `products`, `variants`, `levels`, `sellable`) VALUES (1, 0, 0, 0, 0);
--> statement-breakpoint
-- Rows are removed by `gone_at_ms`, and never deleted.
CREATE TRIGGER `products_inserted` AFTER INSERT ON `products` WHEN NEW.`gone_at_ms` IS NULL
BEGIN
  UPDATE `live_counts` SET `products` = `products` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `products_updated` AFTER UPDATE OF `gone_at_ms` ON `products`
WHEN (NEW.`gone_at_ms` IS NULL) <> (OLD.`gone_at_ms` IS NULL)
BEGIN
  UPDATE `live_counts` SET `products` = `products` + (NEW.`gone_at_ms` IS NULL) - (OLD.`gone_at_ms` IS NULL);
END;
--> statement-breakpoint
CREATE TRIGGER `variants_inserted` AFTER INSERT ON `variants`
BEGIN
  UPDATE `live_counts` SET
    `variants` = `variants` + (NEW.`gone_at_ms` IS NULL),
    `sellable` = `sellable` + NEW.`sellable_rows`;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_updated`
AFTER UPDATE OF `gone_at_ms`, `kind`, `total_hi_ms`, `available_qty`, `live_levels` ON `variants`
WHEN (NEW.`gone_at_ms` IS NULL) <> (OLD.`gone_at_ms` IS NULL) OR NEW.`sellable_rows` <> OLD.`sellable_rows`
BEGIN
  UPDATE `live_counts` SET
    `variants` = `variants` + (NEW.`gone_at_ms` IS NULL) - (OLD.`gone_at_ms` IS NULL),
    `sellable` = `sellable` + NEW.`sellable_rows` - OLD.`sellable_rows`;
END;
--> statement-breakpoint
-- The row of the variant is written before its stock levels.
CREATE TRIGGER `stock_levels_inserted` AFTER INSERT ON `stock_levels` WHEN NEW.`gone_at_ms` IS NULL
BEGIN
  UPDATE `live_counts` SET `levels` = `levels` + 1;
  UPDATE `variants` SET `live_levels` = `live_levels` + 1 WHERE `variant_id` = NEW.`variant_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `stock_levels_updated` AFTER UPDATE OF `gone_at_ms` ON `stock_levels`
WHEN (NEW.`gone_at_ms` IS NULL) <> (OLD.`gone_at_ms` IS NULL)
BEGIN
  UPDATE `live_counts` SET `levels` = `levels` + (NEW.`gone_at_ms` IS NULL) - (OLD.`gone_at_ms` IS NULL);
  UPDATE `variants` SET `live_levels` = `live_levels` + (NEW.`gone_at_ms` IS NULL) - (OLD.`gone_at_ms` IS NULL)
  WHERE `variant_id` = NEW.`variant_id`;
END;
--> statement-breakpoint
-- No reader sees a barrier without a state that is no longer live.
CREATE TRIGGER `mirror_state_barrier` AFTER UPDATE OF `trusted_after_ms` ON `mirror_state`
WHEN NEW.`trusted_after_ms` > OLD.`trusted_after_ms`
BEGIN
  UPDATE `service_state` SET
    `state` = 'catching_up',
    `state_cause` = 'downtime',
    `causes_json` = json_insert(`causes_json`, '$[#]', json_object('code', 'downtime', 'since', NEW.`trusted_after_ms`))
  WHERE `state` = 'live';
END;
--> statement-breakpoint
-- Nor a way in that is not proven.
CREATE TRIGGER `mirror_state_way_in` AFTER UPDATE OF `way_in` ON `mirror_state`
WHEN NEW.`way_in` <> OLD.`way_in` AND NEW.`way_in` <> 'proven'
BEGIN
  UPDATE `service_state` SET
    `state` = iif(NEW.`way_in` = 'missing', 'stale', 'catching_up'),
    `state_cause` = iif(NEW.`way_in` = 'missing', 'webhooks_missing', 'unproven'),
    `causes_json` = json_insert(
      `causes_json`,
      '$[#]',
      json_object(
        'code', iif(NEW.`way_in` = 'missing', 'webhooks_missing', 'unproven'),
        'since', NEW.`way_in_since_ms`
      )
    )
  WHERE `state` <> 'stale';
END;
--> statement-breakpoint
-- Creates sqlite_stat1.
ANALYZE `sqlite_master`;
--> statement-breakpoint
-- Shares of 8192 rows with a few rows per variant: SQLite then answers `WHERE variant_id = ?` by searching every share
-- ("skip-scan"), in every program that reads the file.
INSERT INTO `sqlite_stat1` (`tbl`, `idx`, `stat`) VALUES ('changes', 'changes_variant', '10000000 8192 2');
