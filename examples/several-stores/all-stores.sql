-- The stock of several stores as one view. Each file is read as it is at the first look at it; they are not of one instant.
-- change_seq and epoch are of one store: a reader of changes keeps its position for each store.
ATTACH 'file:/var/lib/stock-mirror/shop/stock-mirror.db?mode=ro' AS shop;
ATTACH 'file:/var/lib/stock-mirror/outlet/stock-mirror.db?mode=ro' AS outlet;

CREATE TEMP VIEW all_stock AS
SELECT 'shop' AS store, * FROM shop.mirror_stock
UNION ALL
SELECT 'outlet' AS store, * FROM outlet.mirror_stock;

-- One row for each SKU: available in all stores, in each, and whether any of it is suspect.
SELECT
  sku,
  sum(available_qty) AS available,
  sum(available_qty) FILTER (WHERE store = 'shop') AS shop,
  sum(available_qty) FILTER (WHERE store = 'outlet') AS outlet,
  max(suspect) AS suspect
FROM all_stock
WHERE sku IS NOT NULL
GROUP BY sku
ORDER BY sku;
