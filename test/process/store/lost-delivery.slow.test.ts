import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  rows,
  startBoth,
  statusOf,
  untilEqual,
  untilPastReads,
  untilQuiet,
} from '../harness.ts';

test.concurrent(
  'a lost delivery is proven by the next one on any of its stock levels, and all it carried is right',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t, { products: 40 });
    await untilPastReads(mirror, sandbox);
    const [first, second, third] = plainVariants(sandbox, 3);

    sandbox.network.loseNext(1);
    sandbox.operations.reserve([first, second, third].map((level) => ({ ...level, qty: 2 })));
    expect(compareWithTruth(mirror.databasePath, sandbox)).not.toEqual([]);
    sandbox.operations.add({ ...first, by: -1 });
    await untilEqual(mirror, sandbox);

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
