/** A product of thousands of stock levels, read again and again while deliveries come: each is answered in time. */
import { expect, onTestFinished, test } from 'vitest';
import { eventually, plainVariants, rows, startBoth, type Json } from './harness.ts';
import { startLoad, unanswered, withStatus } from './load.ts';

const WAREHOUSES = 10;
const READ_EVERY_MS = 700;

test.each([5_900, 11_900])('%i stock levels, each with another figure at each read', async (levels) => {
  const owner = { onTestFinished };
  const { sandbox, mirror } = await startBoth(owner, { products: 20 });
  const moving = new Set(plainVariants(sandbox, 6).map(({ productId }) => productId));
  const { id: largeId } = sandbox.truth.products.find(({ id }) => !moving.has(id))!;
  let reads = 0;
  sandbox.reads.intercept = (endpoint, asked, respond) => {
    if (endpoint !== '/v1/product/detail' || asked['product_id'] !== largeId)
      return Promise.resolve(undefined);
    reads += 1;
    const { status, body } = respond();
    const product = body['product'] as Json;
    const more = Array.from({ length: levels / WAREHOUSES }, (_, n) => variantOf(n, reads));
    const variants = [...(product['variants'] as Json[]), ...more];
    return Promise.resolve({ status, body: { ...body, product: { ...product, variants } } });
  };
  const ask = () => mirror.post('/api/resync', { product_ids: [largeId] });
  await ask();
  const stored = () =>
    rows(mirror.databasePath, 'SELECT 1 FROM mirror_stock WHERE product_id = ?', largeId).length;
  await eventually(() => stored() >= levels, { what: 'the product is in the mirror', withinMs: 60_000 });

  const load = startLoad(owner, sandbox, 60);
  const timer = setInterval(() => void ask(), READ_EVERY_MS);
  owner.onTestFinished(() => clearInterval(timer));
  const readsBefore = reads;
  await eventually(() => load.settled.length >= 600, { what: 'ten seconds of deliveries', withinMs: 60_000 });
  clearInterval(timer);
  load.stop();
  await sandbox.network.idle();
  expect(reads - readsBefore).toBeGreaterThan(3);
  expect(unanswered(load).map(({ outcome, ms }) => ({ outcome, ms }))).toEqual([]);
  expect(withStatus(load, 204)).toHaveLength(load.settled.length);
});

function variantOf(n: number, read: number): Json {
  return {
    product_variant_id: String(900_000_000_000 + n),
    name: `Variant ${n}`,
    sku: `LARGE-${n}`,
    available_qty: WAREHOUSES * (read + (n % 7)),
    on_hand: WAREHOUSES * (read + (n % 7)),
    reserved_qty: 0,
    weight: 1,
    warehouses: Array.from({ length: WAREHOUSES }, (_, w) => ({
      wh_id: String(800_000 + w),
      on_hand: read + (n % 7),
      available_qty: read + (n % 7),
      reserved_qty: 0,
    })),
  };
}
