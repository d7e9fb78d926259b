-- The copy that each program of this folder keeps. Running it again changes nothing.

CREATE TABLE IF NOT EXISTS stock (
  variant_id TEXT NOT NULL,
  warehouse_id TEXT, -- null: the total of the variant
  sku TEXT,
  product_name TEXT,
  variant_name TEXT,
  available_qty INTEGER NOT NULL,
  allow_negative_stock INTEGER,
  why_not TEXT, -- null: trusted, as of position.confirmed_at
  read_at INTEGER -- when the row was read over HTTP: epoch milliseconds, in the mirror's clock
);
CREATE INDEX IF NOT EXISTS stock_variant ON stock (variant_id);
CREATE INDEX IF NOT EXISTS stock_sku ON stock (sku);

-- How far the mirror was followed, and when it last confirmed the trust of the rows (epoch seconds, this host's clock).
CREATE TABLE IF NOT EXISTS position (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  epoch TEXT,
  seq INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL
);
INSERT OR IGNORE INTO position VALUES (1, NULL, 0, 0);

-- What your program reads. No row is trusted once the mirror or the program has been away for a minute.
CREATE VIEW IF NOT EXISTS sellable AS
SELECT variant_id, warehouse_id, sku, product_name, variant_name, available_qty, allow_negative_stock,
  why_not IS NULL AND is_confirmed AS trusted,
  CASE WHEN is_confirmed THEN why_not ELSE 'not_confirmed' END AS why_not
FROM stock
CROSS JOIN (
  SELECT CAST(strftime('%s', 'now') AS INTEGER) - confirmed_at BETWEEN 0 AND 60 AS is_confirmed FROM position
) AS confirmed;
