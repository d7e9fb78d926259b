import { expect, test } from 'vitest';
import { delivery, detail, item, readInput } from '../../mirror/mirror-file.ts';
import { newDatabases } from '../../reconcile/mirror.ts';
import { startOps, type Ops } from '../harness.ts';

const AT_MS = Date.UTC(2026, 10, 23, 14, 5, 30);

async function shop(): Promise<Ops> {
  const databases = newDatabases();
  const variants = ['TS-RED', 'TS-RED', 'MUG', 'CUP', 'CUP ', ' CUP'].map((sku, i) => ({
    id: String(100 + i),
    levels: { 11: 5 },
    more: { sku },
  }));
  await databases.writer.append(readInput('501', detail('501', variants), { sentAtMs: AT_MS - 3_600_000 }));
  const sell = (requestId: string, atMs: number, over: Parameters<typeof item>[0]) =>
    databases.deliver(
      delivery(requestId, item({ warehouse_id: '11', update_time: atMs, sku: 'TS-RED', ...over })),
      atMs,
    );
  await sell('req-first-0001', AT_MS, { order_id: '777' });
  await sell('req-other-0002', AT_MS + 60_000, { old: 4, new: 3, order_id: '777' });
  await databases.writer.command('retryFailures', undefined);
  return startOps(databases);
}

test.each([
  ['a SKU', 'MUG', '/variants/102'],
  ['a SKU of several variants', 'TS-RED', '/stock?q=TS-RED'],
  ['a variant', ' 101 ', '/variants/101'],
  ['a product', '501', '/stock?q=501'],
  ['a request', 'req-first-0001', '/deliveries/1'],
  ['the latest delivery of an order', '777', '/deliveries/2'],
])('redirects to the page of %s', async (_what, text, to) => {
  const ops = await shop();
  const { status, headers } = await ops.ask(`/search?${new URLSearchParams({ q: text }).toString()}`);
  expect([status, headers['location']]).toEqual([302, to]);
});

test.each(['CUP ', ' CUP'])('shows the SKU “%s” next to the one without spaces', async (sku) => {
  const ops = await shop();
  const { headers } = await ops.ask(`/search?${new URLSearchParams({ q: sku }).toString()}`);
  const { text } = await ops.ask(String(headers['location']));
  expect(text).toContain('id="level-103-11"');
  expect(text).toContain(`id="level-${sku === 'CUP ' ? 104 : 105}-11"`);
});

test('searches the stock for anything else', async () => {
  const ops = await shop();
  const { headers } = await ops.ask('/search?q=%3Cb%3E');
  expect(headers['location']).toBe('/stock?q=%3Cb%3E');
  const { status, text } = await ops.ask('/stock?q=%3Cb%3E');
  expect([status, text.includes('No match'), text.includes('<b>”')]).toEqual([200, true, false]);
});
