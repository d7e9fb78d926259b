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
