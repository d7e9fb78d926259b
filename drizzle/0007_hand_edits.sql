-- The file is open to the programs that read it, and one of them, or a person at a shell, may write by mistake. Triggers
-- note the products of rows that the mirror's own writer did not write: they are read again from the store.
CREATE TABLE `hand_edits` (
	`product_id` text PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `own_write` (
	`id` integer PRIMARY KEY NOT NULL,
	`is_open` integer NOT NULL,
	CONSTRAINT "own_write_single" CHECK(id = 1)
) STRICT;
--> statement-breakpoint
INSERT INTO `own_write` (`id`, `is_open`) VALUES (1, 0);
--> statement-breakpoint
CREATE TRIGGER `cells_edited_insert` AFTER INSERT ON `cells` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT `product_id` FROM `variants`
	WHERE `variant_id` IN (NEW.`variant_id`) AND `product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_edited_insert` AFTER INSERT ON `variants` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT NEW.`product_id` WHERE NEW.`product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `products_edited_insert` AFTER INSERT ON `products` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT NEW.`product_id` WHERE NEW.`product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `cells_edited_update` AFTER UPDATE ON `cells` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT `product_id` FROM `variants`
	WHERE `variant_id` IN (OLD.`variant_id`, NEW.`variant_id`) AND `product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_edited_update` AFTER UPDATE ON `variants` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT OLD.`product_id` WHERE OLD.`product_id` IS NOT NULL;
	INSERT OR IGNORE INTO `hand_edits` SELECT NEW.`product_id` WHERE NEW.`product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `products_edited_update` AFTER UPDATE ON `products` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT OLD.`product_id` WHERE OLD.`product_id` IS NOT NULL;
	INSERT OR IGNORE INTO `hand_edits` SELECT NEW.`product_id` WHERE NEW.`product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `cells_edited_delete` AFTER DELETE ON `cells` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT `product_id` FROM `variants`
	WHERE `variant_id` IN (OLD.`variant_id`) AND `product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `variants_edited_delete` AFTER DELETE ON `variants` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT OLD.`product_id` WHERE OLD.`product_id` IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `products_edited_delete` AFTER DELETE ON `products` WHEN (SELECT `is_open` FROM `own_write`) = 0
BEGIN
	INSERT OR IGNORE INTO `hand_edits` SELECT OLD.`product_id` WHERE OLD.`product_id` IS NOT NULL;
END;
