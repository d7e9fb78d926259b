/** A product of thousands of stock levels, read again and again while deliveries come: each is answered in time. */
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { growProduct } from '../../scripts/shared/large-product.ts';
import { present } from '../present.ts';
import { eventually, plainVariants, rows, startBoth } from './harness.ts';
import { watchDisk } from '../hostile/beside.ts';
import { startLoad, untimely } from './load.ts';

const READ_EVERY_MS = 700;
/** Of an answer, on a machine that does the store's side of it too. */
const SLOWEST_MS = 200;

test.each([
  [5_900, 10],
  [6_000, 5],
  [11_900, 10],
])('%i stock levels in %i warehouses, each with another figure at each read', async (levels, warehouses) => {
  const owner = { onTestFinished };
  const { sandbox, mirror } = await startBoth(owner, { products: 20 });
  const moving = new Set(plainVariants(sandbox, 6).map(({ productId }) => productId));
  const { id: largeId } = present(sandbox.truth.products.find(({ id }) => !moving.has(id)));
  const variants = levels / warehouses;
  const large = growProduct(sandbox, { productId: largeId, variants, warehouses });
  const ask = () => mirror.post('/api/resync', { product_ids: [largeId] });
  await ask();
  const stored = () =>
    rows(mirror.databasePath, 'SELECT 1 FROM mirror_stock WHERE product_id = ?', largeId).length;
  await eventually(() => stored() >= levels, { what: 'the product is in the mirror', withinMs: 60_000 });

  const endDisk = watchDisk(dirname(mirror.databasePath));
  const load = startLoad(owner, sandbox, 60);
  const timer = setInterval(() => void ask(), READ_EVERY_MS);
  owner.onTestFinished(() => clearInterval(timer));
  const readsBefore = large.reads;
  await eventually(() => load.settled.length >= 600, { what: 'ten seconds of deliveries', withinMs: 60_000 });
  clearInterval(timer);
  load.stop();
  await sandbox.network.idle();
  expect(large.reads - readsBefore).toBeGreaterThan(3);
  expect(untimely(load, await endDisk(), SLOWEST_MS)).toEqual([]);
});
