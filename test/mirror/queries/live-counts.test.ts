import { expect, test } from 'vitest';
import { status } from '../../../src/mirror/queries/status.ts';
import { trust } from '../../../src/mirror/queries/trust.ts';
import type { Db } from '../../../src/sqlite/open.ts';
import { detail, DirectWriter, rows, T0, values } from '../mirror-file.ts';
import { afterAnyHistory } from '../random-history.ts';

const LIVE = `SELECT (SELECT count(*) FROM products WHERE gone_at_ms IS NULL) AS products,
  (SELECT count(*) FROM variants WHERE gone_at_ms IS NULL) AS variants,
  (SELECT count(*) FROM stock_levels WHERE gone_at_ms IS NULL) AS levels,
  (SELECT count(*) FROM mirror_sellable) AS sellable`;
/** Each due product once, plus bundles. */
const PENDING = `SELECT (
    SELECT count(*) FROM (
      SELECT product_id FROM due_reads WHERE reason NOT IN ('read_failed', 'confirm_removal')
      UNION SELECT product_id FROM products, mirror_state WHERE gone_at_ms IS NULL AND read_at_ms < max(trusted_after_ms,
        coalesce((SELECT max(read_after_ms) FROM runs WHERE state = 'running' AND product_ids_json IS NULL), trusted_after_ms))
      UNION SELECT v.product_id FROM gaps g JOIN variants v ON v.variant_id = g.variant_id WHERE v.product_id IS NOT NULL
    )
  ) + (
    SELECT bundles_due_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM variants WHERE kind = 'bundle' AND gone_at_ms IS NULL)
    FROM mirror_state
  )`;

const WRONG_LEVELS = `
  SELECT variant_id FROM variants
  WHERE live_levels <> (
    SELECT count(*) FROM stock_levels
    WHERE stock_levels.variant_id = variants.variant_id AND stock_levels.gone_at_ms IS NULL
  )`;

function expectCounted(db: Db): void {
  expect(rows(db, 'SELECT products, variants, levels, sellable FROM live_counts')).toEqual(rows(db, LIVE));
  expect(values(db, WRONG_LEVELS)).toEqual([]);
  db.exec(`UPDATE service_state SET state = 'live', alive_at_ms = ${Date.now()}`);
  const said = status(db);
  const [sellable] = rows(db, 'SELECT count(*) AS total, total(trusted) AS trusted FROM mirror_sellable');
  expect(said.sellable).toEqual(sellable);
  expect(said.suspect_count).toBe(said.sellable.total - (said.sellable.trusted ?? 0));
  db.exec(`UPDATE service_state SET alive_at_ms = NULL`);
  expect(status(db)).toMatchObject({ sellable: { trusted: 0 }, suspect_count: said.suspect_count });
  expect(said.pending_reads).toBe(values(db, PENDING)[0]);
  expect(said.dead_letters).toBe(values(db, 'SELECT count(*) FROM dead_letters')[0]);
}

test('counts right after any history', () => {
  const seen = { gone: 0, unmapped: 0, suspect: 0, gaps: 0 };
  const count = (db: Db): void => {
    seen.gone += values<number>(db, 'SELECT count(*) FROM stock_levels WHERE gone_at_ms IS NOT NULL')[0] ?? 0;
    seen.unmapped += values<number>(db, 'SELECT count(*) FROM variants WHERE product_id IS NULL')[0] ?? 0;
    seen.suspect += status(db).suspect_count ?? 0;
    seen.gaps += status(db).open_gaps;
  };
  afterAnyHistory(60, (writer, played) => {
    const { db } = writer;
    const atMs = played(() => {
      expectCounted(db);
      count(db);
    });
    writer.prune(atMs, 3);
    expectCounted(db);
  });
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

test.each([
  [10_000, 10_000],
  [10_001, null],
])('counts suspect rows up to 10,000: of %i, %s', (levels, counted) => {
  const writer = new DirectWriter();
  const variants = Array.from({ length: levels }, (_, n) => ({ id: String(50_000 + n), levels: { 1: 5 } }));
  writer.read('10', detail('10', variants), T0);
  writer.read('11', detail('11', [{ id: '110', levels: { 1: 5 } }]), T0);
  writer.beat();
  writer.requestReads('not_stored', ['10']);
  expect(status(writer.db)).toMatchObject({
    sellable: { total: levels + 1, trusted: counted === null ? null : 1 },
    suspect_count: counted,
  });
  expect(trust(writer.db)).toMatchObject({ untrusted: null, untrusted_count: counted });
  writer.beat('stale', 'disk_full');
  expect(status(writer.db)).toMatchObject({ sellable: { total: levels + 1, trusted: 0 } });
  expect(trust(writer.db)).toMatchObject({ untrusted: null, untrusted_count: levels + 1 });
});
