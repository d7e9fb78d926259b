import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { manualTime, sandboxFor } from './harness.ts';

async function stocked(options: Parameters<typeof sandboxFor>[0] = {}) {
  const sandbox = await sandboxFor(options);
  const [first, second] = sandbox.truth.warehouseIds;
  const variant = present(
    sandbox.operations.createProduct({
      variants: [
        {
          allowNegativeStock: false,
          stock: [
            { warehouseId: present(first), qty: 10 },
            { warehouseId: present(second), qty: 5 },
          ],
        },
      ],
    }).product.variants[0],
  );
  return { sandbox, operations: sandbox.operations, variant, first: present(first), second: present(second) };
}

test('an order takes stock where there is enough and not beyond it', async () => {
  const { operations, variant, second } = await stocked();
  operations.reserve([{ variantId: variant.id, qty: 8 }]);
  expect(present(operations.reserve([{ variantId: variant.id, qty: 4 }]).changes[0]).warehouse_id).toBe(
    second,
  );
  expect(() => operations.reserve([{ variantId: variant.id, qty: 4 }])).toThrow(/fewer than 4/);
  variant.allowNegativeStock = true;
  expect(present(operations.reserve([{ variantId: variant.id, qty: 4 }]).changes[0]).new).toBe(-2);
});

test('stock gives the chained changes of a burst one update_time', async () => {
  const { sandbox, operations, variant } = await stocked({ webhookUrl: 'http://127.0.0.1:1/' });
  const before = sandbox.deliveries.records.length;
  const changes = operations.burst({ variantId: variant.id, by: [1, -3, 5] });
  expect(changes.map((change) => [change.old, change.new])).toEqual([
    [10, 11],
    [11, 8],
    [8, 13],
  ]);
  expect(new Set(changes.map((change) => change.update_time)).size).toBe(1);
  expect(sandbox.deliveries.records).toHaveLength(before + 3);
});

test('update_time never falls for a stock level when the clock is set back', async () => {
  const time = manualTime();
  const { sandbox, operations, variant } = await stocked({ now: time.now });
  const first = present(operations.add({ variantId: variant.id, by: 1 })[0]);
  sandbox.clock.offsetMs = -60_000;
  const second = present(operations.add({ variantId: variant.id, by: 1 })[0]);
  expect(second.update_time).toBe(first.update_time);
  time.advance(61_000);
  expect(present(operations.add({ variantId: variant.id, by: 1 })[0]).update_time).toBe(time.now() - 60_000);
});

test('update_time is out of order within the bounds of the node skew', async () => {
  const time = manualTime();
  const { sandbox, operations, variant } = await stocked({ now: time.now });
  sandbox.clock.nodeSkewMs = 1_000;
  const offsets = Array.from(
    { length: 60 },
    () => present(operations.add({ variantId: variant.id, by: 1 })[0]).update_time - time.now(),
  );
  expect(Math.min(...offsets)).toBe(-1_000);
  expect(Math.max(...offsets)).toBe(1_000);
});

test('structure removes deleted variants and products until restored', async () => {
  const { sandbox, operations, variant } = await stocked();
  const { variant: added } = operations.createVariant(variant.product.id);
  operations.deleteVariant(variant.id);
  const ids = () => sandbox.truth.snapshot().variants.map(({ variantId }) => variantId);
  expect(ids()).toContain(added.id);
  expect(ids()).not.toContain(variant.id);
  expect(() => operations.deleteVariant(added.id)).toThrow(/last/);
  operations.deleteProduct(variant.product.id);
  expect(ids()).not.toContain(added.id);
  expect(() => operations.adjust({ variantId: added.id, to: 1 })).toThrow(/no live variant/);
  operations.restoreProduct(variant.product.id);
  expect(ids()).toContain(added.id);
  expect(ids()).not.toContain(variant.id);
});
