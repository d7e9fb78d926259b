/** The credentials, or the address, suddenly belong to another store than the one mirrored. */
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import {
  compareWithTruth,
  eventually,
  plainVariants,
  rows,
  startBoth,
  startMirror,
  startService,
  statusOf,
  throughout,
  untilLive,
  untilLogged,
  untilQuiet,
  type Json,
  type RunningMirror,
} from '../harness.ts';

/** Every figure and text, with whatever vouches for it: but not when a product was last asked for, which this is. */
const contents = (mirror: RunningMirror): unknown[] => [
  rows(mirror.databasePath, 'SELECT product_id, name, detail_json FROM mirror_products ORDER BY 1'),
  ...['mirror_variants', 'mirror_stock'].map((view) =>
    rows<Json>(mirror.databasePath, `SELECT * FROM ${view} ORDER BY 1, 2`).map(
      ({ suspect: _, ...row }) => row,
    ),
  ),
];

const blocked = async (mirror: RunningMirror): Promise<Json | null> =>
  (await mirror.get('/api/status')).body['blocked'] as Json | null;

test('it stops reading and says so, keeps what it has and what webhooks bring, and goes on with the right store', async (t) => {
  // Fewer products than the mass-removal guard minds, in the mirror, and more in the other store.
  const { sandbox, mirror } = await startBoth(t);
  const other = await startService(t, { products: 60, seed: 2 });
  expect(other.truth.storeId).not.toBe(sandbox.truth.storeId);
  const [level] = plainVariants(sandbox, 1);
  await mirror.stop();
  await eventually(() => Date.now() - statusOf(mirror.databasePath).alive_at > 5_500, { what: 'a downtime' });
  const before = contents(mirror);

  const folder = dirname(mirror.databasePath);
  const wrong = await startMirror(t, sandbox, { folder, env: { SERVICE_BASE_URL: other.baseUrl } });
  await eventually(async () => (await blocked(wrong))?.['kind'] === 'wrong_store', {
    what: 'the other store',
  });
  const message = String((await blocked(wrong))?.['message']);
  expect(message).toContain(other.truth.storeId);
  expect(message).toContain(sandbox.truth.storeId);
  const isError = (line: Json): boolean => line['kind'] === 'wrong_store' && line['level'] === 'error';
  await untilLogged(wrong, isError, 'that it is another store');
  expect((await wrong.get('/readyz')).status).toBe(503);
  const asked = (): number => Object.values(other.requests).reduce((sum, count) => sum + count, 0);
  // What was under way when the first foreign answer came may still arrive.
  const askedAtStop = asked();
  await throughout(2_000, () => {
    expect(asked()).toBeLessThanOrEqual(askedAtStop + 8);
  });
  // No word of the operator's brings it in.
  await wrong.post('/api/resync', { allow_removals: true });
  await throughout(1_000, () => {
    expect(asked()).toBeLessThanOrEqual(askedAtStop + 8);
  });
  expect(contents(wrong)).toEqual(before);

  sandbox.operations.add({ ...level, by: 2 });
  await sandbox.network.idle();
  expect(sandbox.deliveries.records.at(-1)).toMatchObject({ status: 204 });

  await wrong.stop();
  const right = await startMirror(t, sandbox, { folder });
  await untilLive(right);
  await untilQuiet(right, sandbox);
  expect(await blocked(right)).toBeNull();
  expect(compareWithTruth(right.databasePath, sandbox)).toEqual([]);
  // Nothing of the other store is left behind that anybody would have to allow.
  expect((await right.get('/api/status')).body).toMatchObject({
    products: 12,
    held_removals: 0,
    parked_reads: 0,
  });
});
