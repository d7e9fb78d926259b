import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  resync,
  rows,
  startBoth,
  statusOf,
  throughout,
  untilNone,
} from '../harness.ts';

test('ends equal and without suspects after every fault at once', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 40, clockOffsetMs: 90_000, seed: 7 });
  const { network, reads } = sandbox;
  network.concurrency = 32;
  Object.assign(network, {
    loss: 0.15,
    duplicate: 0.2,
    reorder: 0.2,
    delayMs: { min: 0, max: 400 },
    tail: { probability: 0.05, maxMs: 3_000 },
  });
  Object.assign(reads, {
    latencyMs: { min: 0, max: 60 },
    slow: { probability: 0.1, ms: 700 },
    stale: { probability: 0.3, ageMs: 1_900 },
  });
  reads.fail.serverError = 0.05;
  sandbox.traffic.structural = true;
  sandbox.traffic.start(20);
  await throughout(12_000, () => {
    expect(mirror.stderr).toBe('');
  });
  sandbox.traffic.stop();
  await network.flush();
  Object.assign(network, { loss: 0, duplicate: 0, reorder: 0 });
  await network.idle();
  const sent = sandbox.deliveries.counts;
  expect(sent.lost).toBeGreaterThan(5);

  reads.stale.probability = 0;
  await resync(mirror);
  await untilNone(
    () =>
      compareWithTruth(mirror.databasePath, sandbox).filter((line) => !line.includes('the store has none')),
    { what: 'equal to the truth' },
  );
  const open = `SELECT product_id, reason FROM read_requests WHERE reason <> 'confirm_removal'`;
  await eventually(
    () =>
      rows(mirror.databasePath, open).length === 0 &&
      rows(mirror.databasePath, 'SELECT 1 FROM gaps').length === 0 &&
      rows<{ product_id: string }>(
        mirror.databasePath,
        `SELECT DISTINCT product_id FROM mirror_stock WHERE suspect = 1
         AND product_id NOT IN (SELECT product_id FROM read_requests WHERE reason = 'confirm_removal')
         -- No read tells a pulled variant's warehouses, so none can clear those that a read found suspect.
         AND NOT EXISTS (SELECT 1 FROM stock_levels c WHERE c.variant_id = mirror_stock.variant_id
           AND c.warehouse_id = mirror_stock.warehouse_id AND c.unexplained_at_ms IS NOT NULL)`,
      ).length === 0,
    { what: 'nothing left suspect' },
  );
  expect(statusOf(mirror.databasePath).state).toBe('live');
});
