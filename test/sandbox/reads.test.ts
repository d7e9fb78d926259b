import { expect, test } from 'vitest';
import { present } from '../shared/present.ts';
import { accessToken, createRaw } from '../contract/raw.ts';
import { lamp, levelOf, manualTime, reply, sandboxFor, type Reply } from './harness.ts';

const DETAIL = '/v1/product/detail';

const availableOf = (answer: Reply, variantId: string): unknown =>
  (answer.body['product'] as { variants: Record<string, unknown>[] }).variants.find(
    (variant) => variant['product_variant_id'] === variantId,
  )?.['available_qty'];

async function prepared(options: Parameters<typeof sandboxFor>[0] = {}) {
  const sandbox = await sandboxFor(options);
  const token = await accessToken(createRaw(sandbox));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  // Not through `raw`, which refuses faults that no document allows.
  const post = async (path: string, body = {}) =>
    reply(await fetch(sandbox.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) }));
  const variant = lamp(sandbox);
  const productId = variant.product.id;
  const read = () => post(DETAIL, { product_id: productId });
  const set = (to: number) => sandbox.operations.adjust({ ...levelOf(variant), to });
  return { sandbox, post, variant, productId, read, set };
}

test('stale shows the state of exactly that age', async () => {
  const time = manualTime();
  const { sandbox, variant, read, set } = await prepared({ now: time.now });
  time.advance(10_000);
  set(20);
  time.advance(1_000);
  set(30);
  set(31);
  time.advance(500);

  const staleBy = async (ageMs: number) => {
    sandbox.reads.stale = { probability: 1, ageMs };
    return availableOf(await read(), variant.id);
  };
  expect(await staleBy(0)).toBe(31);
  expect(await staleBy(499)).toBe(31);
  expect(await staleBy(500)).toBe(31);
  expect(await staleBy(501)).toBe(20);
  expect(await staleBy(1_500)).toBe(20);
  expect(await staleBy(1_501)).toBe(10);
  sandbox.reads.stale.probability = 0;
  expect(availableOf(await read(), variant.id)).toBe(31);
});

test('slow samples on arrival and answers later', async () => {
  const time = manualTime();
  const { sandbox, variant, read, set } = await prepared({ timers: time.timers });
  sandbox.reads.slow = { probability: 1, ms: 300 };
  let done = false;
  const answer = read().finally(() => (done = true));
  await expect.poll(() => time.waiting()).toBe(1);
  set(99);
  time.advance(299);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  time.advance(1);
  expect(availableOf(await answer, variant.id)).toBe(10);
});

test.each([
  ['serverError', 500, 'server_error'],
  ['invalidToken', 401, 'invalid_token'],
  ['slowDown', 429, 'slow_down'],
] as const)('fail.%s answers %i %s', async (kind, status, error) => {
  const { sandbox, post, read } = await prepared();
  sandbox.reads.fail[kind] = 1;
  sandbox.reads.fail.retryAfterS = 7;
  for (const answer of [await read(), await post('/v1/product/list')]) {
    expect([answer.status, answer.body['error']]).toEqual([status, error]);
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '7' : null);
    expect(answer.headers.get('x-request-id')).toBeTruthy();
  }
  sandbox.reads.fail[kind] = 0;
  expect((await read()).status).toBe(200);
});

test('sends the store’s clock as Date header', async () => {
  const time = manualTime();
  const { sandbox, read } = await prepared({ now: time.now });
  sandbox.clock.offsetMs = -3_600_000;
  expect(Date.parse(present((await read()).headers.get('date')))).toBe(time.now() - 3_600_000);
  sandbox.reads.fail.serverError = 1;
  expect(Date.parse(present((await read()).headers.get('date')))).toBe(time.now() - 3_600_000);
});
