-- A total that details tell twice, and not the same, is suspect. Its high watermark is then beyond every instant.
DROP VIEW `mirror_variants`;
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
		OR v.`total_hi_ms` > 8640000000000000
	) AS `suspect`,
	v.`change_seq` AS `change_seq`
FROM `variants` v
LEFT JOIN `products` p ON p.`product_id` = v.`product_id`
WHERE v.`gone_at_ms` IS NULL AND v.`product_id` IS NOT NULL AND v.`available_qty` IS NOT NULL;
