import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  resync,
  rows,
  startBoth,
  statusOf,
  throughout,
  untilEqual,
  untilPastReads,
  untilQuiet,
} from '../harness.ts';

test.concurrent(
  'a lost delivery is proven by the next one on any of its stock levels, and all it carried is right within 10 s',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 40 });
    await untilPastReads(mirror, sandbox);
    const [first, second, third] = plainVariants(sandbox, 3);

    sandbox.network.loseNext(1);
    sandbox.operations.reserve([first, second, third].map((level) => ({ ...level, qty: 2 })));
    expect(compareWithTruth(mirror.databasePath, sandbox)).not.toEqual([]);
    const startedMs = performance.now();
    sandbox.operations.add({ ...first, by: -1 });
    await untilEqual(mirror, sandbox);
    expect(performance.now() - startedMs).toBeLessThan(10_000);

    await untilQuiet(mirror, sandbox);
    expect(statusOf(mirror.databasePath)).toMatchObject({ suspect_count: 0, open_gaps: 0 });
    // What a webhook brought says so, and so does what a read had to bring.
    const sources = rows<{ source: string }>(
      mirror.databasePath,
      'SELECT source FROM mirror_stock WHERE variant_id IN (?, ?, ?) AND warehouse_id = ? ORDER BY variant_id = ? DESC',
      first.variantId,
      second.variantId,
      third.variantId,
      first.warehouseId,
      first.variantId,
    );
    expect(sources[0]).toEqual({ source: 'webhook' });
    expect(new Set(sources.slice(1).map(({ source }) => source))).toEqual(new Set(['read']));
  },
);

test.concurrent('a late delivery closes the break it left, without any read', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  await untilPastReads(mirror, sandbox);
  const [level] = plainVariants(sandbox, 1);
  const reads = sandbox.requests['/v1/product/detail'];

  const held = sandbox.network.hold();
  sandbox.operations.add({ ...level, by: 7 });
  sandbox.operations.add({ ...level, by: 4 });
  // The second overtakes the first.
  const [earlier, later] = [...held.deliveries];
  sandbox.network.intercept = null;
  await postTo(mirror.webhookUrl, present(later));
  await eventually(() => statusOf(mirror.databasePath)['open_gaps'] === 1, { what: 'the gap is there' });
  await postTo(mirror.webhookUrl, present(earlier));
  await eventually(() => statusOf(mirror.databasePath)['open_gaps'] === 0, { what: 'the gap is closed' });
  expect(statusOf(mirror.databasePath)).toMatchObject({ pending_reads: 0, suspect_count: 0 });
  expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
  expect(sandbox.requests['/v1/product/detail']).toBe(reads);
});

test.concurrent('a lost last delivery is repaired by an operator’s resync, and told as drift', async (t) => {
  const { sandbox, mirror } = await startBoth(t);
  const [level] = plainVariants(sandbox, 1);
  sandbox.network.loseNext(1);
  sandbox.operations.add({ ...level, by: 9 });
  expect(compareWithTruth(mirror.databasePath, sandbox)).toHaveLength(2);

  const run = await resync(mirror);
  expect(run).toMatchObject({ kind: 'operator', state: 'done', done: 12, total: 12, failed: 0, error: null });
  expect(run['drift']).toBeGreaterThanOrEqual(1);
  expect(compareWithTruth(mirror.databasePath, sandbox)).toEqual([]);
});

test.concurrent('while nothing is lost, the schedule leaves the store alone', async (t) => {
  const { sandbox, mirror } = await startBoth(t, {}, { RECONCILE_CRON: '* * * * * *' });
  const [moving] = plainVariants(sandbox, 1);
  await untilQuiet(mirror, sandbox);
  sandbox.operations.add({ ...moving, by: 3 });
  await sandbox.network.idle();
  // So soon after the first read it may have been in it: a rule asks for another.
  await untilQuiet(mirror, sandbox);
  const reads = sandbox.requests['/v1/product/detail'];
  await throughout(2_500, () => {
    expect(sandbox.requests['/v1/product/detail']).toBe(reads);
  });
});

async function postTo(
  url: string,
  delivery: { readonly body: Buffer; readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
  const { status } = await fetch(url, {
    method: 'POST',
    headers: delivery.headers,
    body: new Uint8Array(delivery.body),
  });
  expect(status).toBe(204);
}
