/** A store that answers with far too much: that product or page is refused by name, and nothing else suffers. */
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  eventually,
  plainVariants,
  startBoth,
  untilEqual,
  untilLogged,
  type Json,
  type RunningMirror,
} from '../harness.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { watchDisk } from '../../hostile/beside.ts';
import { startLoad, untimely } from '../load.ts';

/** What one answer of 16 MB held when it was tried: 20 products of so many levels. */
const LEVELS = 34_500;

// Made once, and asked for five times a second: the simulated store, which shares this process with the sender, must
// not be what is slow.
const WAREHOUSES = Array.from({ length: LEVELS }, (_, n) => ({
  wh_id: String(n + 1),
  on_hand: 1,
  available_qty: 1,
  reserved_qty: 0,
}));
const TEXT = 'x'.repeat(3 << 20);
const ROWS = Array.from({ length: 40_000 }, (_, n) => ({ id: String(n + 1_000_000), name: 'x'.repeat(40) }));

const hugeLevels = (product: Json): Json => {
  const [first, ...others] = product['variants'] as Json[];
  return { ...product, variants: [{ ...first, warehouses: WAREHOUSES }, ...others] };
};
const hugeText = (product: Json): Json => ({ ...product, description: TEXT });
const hugePage = (body: Json): Json => ({ ...body, products: ROWS });

interface Trouble {
  readonly detail?: (product: Json) => Json;
  readonly page?: (body: Json) => Json;
}

/** Every product but those of the variants that the load changes. */
function afflict(sandbox: Sandbox, trouble: Trouble, spared: ReadonlySet<string>): () => void {
  sandbox.reads.intercept = (endpoint, asked, respond) => {
    const { status, body } = respond();
    if (endpoint === '/v1/product/list' && trouble.page !== undefined)
      return Promise.resolve({ status, body: trouble.page(body) });
    const product = body['product'] as Json | undefined;
    if (product === undefined || trouble.detail === undefined || spared.has(String(asked['product_id'])))
      return Promise.resolve(undefined);
    return Promise.resolve({ status, body: { ...body, product: trouble.detail(product) } });
  };
  return () => {
    sandbox.reads.intercept = null;
  };
}

const lastError = async (mirror: RunningMirror): Promise<string> =>
  String((await mirror.get('/api/status')).body['last_read_error']);

test.each<[name: string, trouble: Trouble, said: string]>([
  ['690,000 stock levels in 20 products', { detail: hugeLevels }, 'stock levels; at most'],
  ['details with megabytes of text', { detail: hugeText }, 'a text of more than'],
])('%s', async (_name, trouble, said) => {
  const owner = { onTestFinished };
  const { sandbox, mirror } = await startBoth(owner, { products: 26 }, { SERVICE_MAX_RPS: '5' });
  const spared = new Set(plainVariants(sandbox, 6).map(({ productId }) => productId));
  const calm = afflict(sandbox, trouble, spared);
  const endDisk = watchDisk(dirname(mirror.databasePath));
  const load = startLoad(owner, sandbox, 20);
  await mirror.post('/api/resync', {});
  await eventually(async () => (await lastError(mirror)).includes(said), { what: 'the refusal is shown' });
  await eventually(() => load.settled.length > 100, { what: 'deliveries beside it' });
  load.stop();
  await sandbox.network.idle();
  expect(untimely(load, await endDisk())).toEqual([]);
  calm();
  await mirror.post('/api/resync', {});
  await untilEqual(mirror, sandbox);
});

test('list pages of 40,000 products', async () => {
  const owner = { onTestFinished };
  const { sandbox, mirror } = await startBoth(owner, { products: 26 }, { SERVICE_MAX_RPS: '5' });
  const calm = afflict(sandbox, { page: hugePage }, new Set());
  const endDisk = watchDisk(dirname(mirror.databasePath));
  const load = startLoad(owner, sandbox, 20);
  await mirror.post('/api/resync', {});
  await untilLogged(
    mirror,
    (line) => JSON.stringify(line).includes('a page of 40000 products'),
    'the refusal',
  );
  await eventually(() => load.settled.length > 100, { what: 'deliveries beside it' });
  load.stop();
  await sandbox.network.idle();
  expect(untimely(load, await endDisk())).toEqual([]);
  calm();
  await untilEqual(mirror, sandbox);
});
