import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { status } from '../../../src/mirror/queries/status.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { DirectWriter, rows, T0, values, writerDb } from '../mirror-file.ts';
import { history, play } from '../random-history.ts';

const LIVE = `SELECT (SELECT count(*) FROM products WHERE gone_at_ms IS NULL) AS products,
  (SELECT count(*) FROM variants WHERE gone_at_ms IS NULL) AS variants,
  (SELECT count(*) FROM stock_levels WHERE gone_at_ms IS NULL) AS levels`;
const BY_PRODUCT = `SELECT v.product_id, count(*) AS levels FROM stock_levels c JOIN variants v ON v.variant_id = c.variant_id
  WHERE c.gone_at_ms IS NULL AND v.product_id IS NOT NULL GROUP BY v.product_id ORDER BY v.product_id`;
/** Each due product once, plus bundles. */
const PENDING = `SELECT (
    SELECT count(*) FROM (
      SELECT product_id FROM due_reads WHERE reason NOT IN ('stale', 'confirm_removal')
      UNION SELECT product_id FROM products, mirror_state WHERE gone_at_ms IS NULL AND read_at_ms < max(trusted_after_ms,
        coalesce((SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL), trusted_after_ms))
      UNION SELECT v.product_id FROM gaps g JOIN variants v ON v.variant_id = g.variant_id WHERE v.product_id IS NOT NULL
    )
  ) + (SELECT bundles_due_at_ms IS NOT NULL FROM mirror_state)`;

const WRONG_LEVELS = `
  SELECT variant_id FROM variants
  WHERE live_levels <> (
    SELECT count(*) FROM stock_levels
    WHERE stock_levels.variant_id = variants.variant_id AND stock_levels.gone_at_ms IS NULL
  )`;

function expectCounted(db: Db): void {
  expect(rows(db, 'SELECT products, variants, levels FROM live_counts')).toEqual(rows(db, LIVE));
  expect(rows(db, 'SELECT * FROM product_stock_levels WHERE levels <> 0 ORDER BY product_id')).toEqual(
    rows(db, BY_PRODUCT),
  );
  expect(values(db, WRONG_LEVELS)).toEqual([]);
  const said = status(db);
  expect(said.suspect_count).toBe(values(db, 'SELECT count(*) FROM mirror_stock WHERE suspect = 1')[0]);
  expect(said.pending_reads).toBe(values(db, PENDING)[0]);
  expect(said.dead_letters).toBe(values(db, 'SELECT count(*) FROM dead_letters')[0]);
}

test('counts right after any history', () => {
  const made = new DirectWriter();
  const [template, inboxTemplate] = [made.db, made.writer.inboxDb].map((db) => {
    // Bytes 18 and 19 of the header: a copy in memory has no write-ahead log.
    return db.serialize().fill(1, 18, 20);
  });
  const seen = { gone: 0, unmapped: 0, suspect: 0, gaps: 0 };
  const count = (db: Db): void => {
    seen.gone += values<number>(db, 'SELECT count(*) FROM stock_levels WHERE gone_at_ms IS NOT NULL')[0] ?? 0;
    seen.unmapped += values<number>(db, 'SELECT count(*) FROM variants WHERE product_id IS NULL')[0] ?? 0;
    seen.suspect += status(db).suspect_count;
    seen.gaps += status(db).open_gaps;
  };
  fc.assert(
    fc.property(history, (plan) => {
      const inboxDb = new Database(inboxTemplate);
      const writer = new DirectWriter(new Database(template), inboxDb);
      const { db } = writer;
      const atMs = play(writer, plan, () => {
        expectCounted(db);
        count(db);
      });
      writer.prune(atMs, 3);
      expectCounted(db);
      db.close();
      inboxDb.close();
    }),
    { numRuns: 60 },
  );
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(3);
});

test('counts dead letters right after pruning, also if they arrived out of order', () => {
  const made = new DirectWriter();
  for (const arrivedAtMs of [T0, T0 + 20, T0 + 1, T0 + 30]) {
    made.deliver(Buffer.from(`not JSON, ${arrivedAtMs}`), arrivedAtMs);
  }
  expect(made.prune(T0 + 10)).toMatchObject({ deadLetters: 1 });
  expectCounted(made.db);
  // The one that arrived early is deleted with those before it.
  expect(made.prune(T0 + 25)).toMatchObject({ deadLetters: 2 });
  expectCounted(made.db);
});

test.each([4_999, 5_000, 5_001])('counts right after a downtime of %i products', (products) => {
  const db = writerDb();
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${products + 1})
    INSERT INTO products (product_id, read_at_ms, has_bundle) SELECT 1000000 + i, ${T0} + i * (i % 2), 0 FROM n`);
  db.exec(`INSERT INTO variants SELECT product_id, product_id, 'S', NULL, '', 'own', 1, NULL, NULL, 0, NULL, NULL, 0, 0, NULL, 0, 0,
    NULL, NULL, NULL, 1, 2 FROM products`);
  db.exec(`INSERT INTO stock_levels SELECT variant_id, warehouse_id, 1, 'read', 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, 1 FROM variants, (SELECT '1' AS warehouse_id UNION SELECT '2')`);
  db.exec(`UPDATE live_counts SET products = ${products + 1}, variants = ${products + 1}, levels = 2 * ${products + 1};
    INSERT INTO product_stock_levels SELECT product_id, 2 FROM products`);
  expect(status(db)).toMatchObject({ products: products + 1, levels: 2 * products + 2, suspect_count: 0 });
  db.exec(`UPDATE mirror_state SET trusted_after_ms = ${T0 + 1_000_000}`);
  db.exec(`UPDATE products SET read_at_ms = ${T0 + 2_000_000} WHERE product_id = '1000001'`);
  // After the changes above, which its connection would not see.
  new DirectWriter(db).requestReads('not_stored', ['1000001', '1000002'], T0);
  expectCounted(db);
  expect(status(db)).toMatchObject({ suspect_count: 2 * products + 2, pending_reads: products + 1 });
});
