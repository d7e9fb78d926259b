import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import {
  compareWithTruth,
  eventually,
  rows,
  startBoth,
  statusOf,
  throughout,
  untilDelivered,
  untilEqual,
  untilQuiet,
} from '../harness.ts';

test.concurrent('a new product is found and right within seconds of its first webhook', async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 150 });
  const { product } = sandbox.operations.createProduct({
    name: 'new',
    variants: [{ stock: [{ warehouseId: present(sandbox.truth.warehouseIds[0]), qty: 17 }] }],
  });
  await untilDelivered(mirror, sandbox);
  // Its stock is there at once, under suspicion until its product is known.
  expect(
    rows(
      mirror.databasePath,
      'SELECT product_id, available_qty, suspect FROM mirror_stock WHERE product_id IS NULL',
    ),
  ).toEqual([{ product_id: null, available_qty: 17, suspect: 1 }]);
  await untilEqual(mirror, sandbox);
  await untilQuiet(mirror, sandbox);
  expect(
    rows(mirror.databasePath, 'SELECT suspect FROM mirror_stock WHERE product_id = ?', product.id),
  ).toEqual([{ suspect: 0 }]);
});

test.concurrent(
  'a variant that nobody has is looked for, and the catalogue is not read over and over for it',
  async (t) => {
    const { sandbox, mirror } = await startBoth(t);
    const tell = (qty: number): void => {
      sandbox.network.publish([
        {
          productId: '1',
          variantId: '999000999',
          warehouseId: present(sandbox.truth.warehouseIds[0]),
          sku: 'NOBODY',
          old: qty - 1,
          new: qty,
          updateTimeMs: sandbox.clock.now(),
          reason: 'user_added',
        },
      ]);
    };
    const before = present(sandbox.requests['/v1/product/detail']);
    tell(5);
    await untilDelivered(mirror, sandbox);
    expect(statusOf(mirror.databasePath)).toMatchObject({ pending_reads: 1 });
    const variant = (): { missing: number | null } =>
      present(
        rows<{ missing: number | null }>(
          mirror.databasePath,
          `SELECT missing_at_ms AS missing FROM variants WHERE variant_id = '999000999'`,
        )[0],
      );
    await eventually(() => variant().missing !== null, { what: 'it was looked for in vain' });
    // Every product was read once for it.
    expect(present(sandbox.requests['/v1/product/detail']) - before).toBeLessThanOrEqual(24);
    const after = sandbox.requests['/v1/product/detail'];
    await throughout(3_000, () => {
      expect(sandbox.requests['/v1/product/detail']).toBe(after);
    });
    expect(compareWithTruth(mirror.databasePath, sandbox)).toHaveLength(1);
  },
);
