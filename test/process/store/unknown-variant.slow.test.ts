import { expect, test } from 'vitest';
import { present } from '../../shared/present.ts';
import { rows, startBoth, untilDelivered, untilEqual, untilQuiet } from '../harness.ts';

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
