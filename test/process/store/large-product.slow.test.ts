/** A product of thousands of stock levels, read again and again while deliveries come: each is answered in time. */
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { growProduct } from './large-product.ts';
import { present } from '../../shared/present.ts';
import { signBody } from '../../../src/store-api/signature.ts';
import { diskWaitMs, watchDisk } from '../../hostile/beside.ts';
import { send } from '../../intake/intake.ts';
import { delivery, item } from '../../mirror/mirror-file.ts';
import { eventually, plainVariants, rows, startBoth } from '../harness.ts';
import { startLoad, untimely } from '../load.ts';

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
  await eventually(() => stored() >= levels, { what: 'the product is in the mirror' });

  const endDisk = watchDisk(dirname(mirror.databasePath));
  const load = startLoad(owner, sandbox, 60);
  const timer = setInterval(() => void ask(), READ_EVERY_MS);
  owner.onTestFinished(() => clearInterval(timer));
  const readsBefore = large.reads;
  await eventually(() => load.settled.length >= 600, { what: 'ten seconds of deliveries' });
  clearInterval(timer);
  load.stop();
  await sandbox.network.idle();
  expect(large.reads - readsBefore).toBeGreaterThan(3);
  expect(untimely(load, await endDisk(), SLOWEST_MS)).toEqual([]);
});

const ITEMS = 2_000;

test(`deliveries of ${ITEMS} items beside others`, async (t) => {
  const { sandbox, mirror } = await startBoth(t, { products: 20 });
  const port = Number(new URL(mirror.webhookUrl).port);
  const endDisk = watchDisk(dirname(mirror.databasePath));
  const load = startLoad(t, sandbox, 60);
  const large = [];
  for (let round = 1; round <= 10; round += 1) {
    const items = Array.from({ length: ITEMS }, (_, i) =>
      item({ id: String(70_000 + i), old: round, new: round + 1, update_time: Date.now() }),
    );
    const body = delivery(`large-${round}`, ...items);
    const headers = { 'x-service-signature': signBody(sandbox.webhookSecret, body) };
    const sentAtMs = Date.now();
    const answer = await send(port, { method: 'POST', path: '/webhooks', headers, pieces: [body] });
    large.push({ status: answer.status, sentAtMs, tookMs: answer.tookMs });
  }
  load.stop();
  await sandbox.network.idle();
  const disk = await endDisk();
  expect(large.map(({ status }) => status)).toEqual(large.map(() => 204));
  expect(large.filter((one) => one.tookMs - diskWaitMs(one, disk) >= SLOWEST_MS)).toEqual([]);
  expect(untimely(load, disk, SLOWEST_MS)).toEqual([]);
  const known = `SELECT count(*) AS n FROM mirror_stock WHERE variant_id BETWEEN '70000' AND '71999' AND available_qty = 11`;
  await eventually(() => rows<{ n: number }>(mirror.databasePath, known)[0]?.n === ITEMS, {
    what: 'every item is applied',
  });
});
