/** The search in the header of each page: one hit is shown at once, several are listed. */
import { expect, test } from 'vitest';
import { delivery, detail, item, readEntry } from '../../mirror/mirror-file.ts';
import { newStore } from '../../reconcile/mirror.ts';
import { startOps, type Ops } from '../harness.ts';

const AT_MS = Date.UTC(2026, 10, 23, 14, 5, 30);

async function shop(): Promise<Ops> {
  const store = newStore();
  const variants = ['TS-RED-M', 'TS-RED-L', 'MUG'].map((sku, i) => ({
    id: String(100 + i),
    levels: { 11: 5 },
    more: { sku },
  }));
  const found = detail('501', variants);
  await store.writer.append(readEntry('501', found, { sentAtMs: AT_MS - 3_600_000, s0: 0 }));
  const move = async (requestId: string, atMs: number, over: Parameters<typeof item>[0]) =>
    store.writer.appendDelivery(
      delivery(requestId, item({ warehouse_id: '11', update_time: atMs, ...over })),
      atMs,
    );
  // So large that the event log is not searched for it: the feed is.
  const note = 'x'.repeat(17_000);
  await move('req-first-0001', AT_MS, { order_id: '777', sku: 'TS-RED-M', note });
  await move('req-other-0002', AT_MS + 60_000, { old: 4, new: 3, order_id: '778', sku: 'TS-RED-M' });
  await move('req-again-0003', AT_MS + 120_000, { old: 3, new: 4, order_id: '777', sku: 'TS-RED-M' });
  // Nothing of it is in the feed.
  await store.writer.appendDelivery(Buffer.from('{"request_id":"req-odd-0004","data":0}'), AT_MS + 180_000);
  const later = AT_MS + 3_600_000;
  const corrected = detail('501', [{ ...variants[0], id: '100', levels: { 11: 9 } }, ...variants.slice(1)]);
  await store.writer.append(readEntry('501', corrected, { sentAtMs: later, s0: store.writer.lastSeq }));
  await store.writer.command('settle', undefined);
  return startOps(store, { warehouseNames: new Map([['11', 'Bangkok']]) });
}

const search = (ops: Ops, q: string, zone = '') =>
  ops.ask(`/search?${new URLSearchParams({ q, zone }).toString()}`);
const linksIn = (page: string): string[] =>
  [...(/<main[^]*<\/main/.exec(page)?.[0] ?? '').matchAll(/<li>\s*<a\s+href="([^"]+)"/g)].map(
    ([, href]) => href ?? '',
  );

test.each([
  ['a SKU', 'TS-RED-M', '/variants/100'],
  ['the beginning of one SKU alone', 'MU', '/variants/102'],
  ['the beginning of a SKU in small letters', 'mug', '/variants/102'],
  ['a variant', '101', '/variants/101'],
  ['a request', 'req-first-0001', '/deliveries/2'],
  ['a request of a delivery that changed nothing', 'req-odd-0004', '/deliveries/5'],
  ['an order', '778', '/deliveries/3'],
  ['a minute', '2026-11-23 14:05', '/deliveries/2'],
  ['a second, as the page shows it', '2026-11-23 14:06:30 UTC', '/deliveries/3'],
  ['an instant in ISO 8601', '2026-11-23T21:06:30.000+07:00', '/deliveries/3'],
  ['an instant as the API gives it', String(AT_MS + 120_000), '/deliveries/4'],
])('%s leads to its page: %s', async (_what, text, to) => {
  const { status, headers } = await search(await shop(), text);
  expect([status, headers['location']]).toEqual([302, to]);
});

test('several hits are a list, and nothing says what can be searched for', async () => {
  const ops = await shop();
  const list = async (q: string, zone?: string) => {
    const { status, text } = await search(ops, q, zone);
    expect([q, status]).toEqual([q, 200]);
    return linksIn(text);
  };
  expect(await list('TS-RED')).toEqual(['/variants/101', '/variants/100']);
  expect(await list('501')).toEqual(['/variants/100', '/variants/101', '/variants/102']);
  expect(await list('777')).toEqual(['/deliveries/4', '/deliveries/2']);
  expect(await list('2026-11-23')).toHaveLength(4 + 3 + 1);
  const corrected = await search(ops, '2026-11-23 15:05');
  expect(corrected.headers['location']).toMatch(/^\/variants\/100\?before=(\d+)#change-\d+$/);
  expect((await search(ops, '2026-11-23 13:05')).text).toContain('Bangkok');
  for (const nothing of ['no-such-thing', '2026-11-23 16:00', '2026-13-01', '<b>'])
    expect((await search(ops, nothing)).text, nothing).toContain('id="nothing-found"');
  expect((await search(ops, '')).text).toContain('The search finds');
  expect((await search(ops, '<b>')).text).not.toContain('“<b>');
});

test('a time is in the reader’s zone, also where its clocks change', async () => {
  const ops = await shop();
  const at = async (q: string, zone: string) => (await search(ops, q, zone)).headers['location'];
  expect(await at('2026-11-23 21:05', 'Asia/Bangkok')).toBe('/deliveries/2');
  expect(await at('2026-11-23 15:05', 'Europe/Berlin')).toBe('/deliveries/2');
  expect(await at('2026-11-23 14:05', 'no such zone')).toBe('/deliveries/2');
  expect(await at('2026-11-23 14:05Z', 'Asia/Bangkok')).toBe('/deliveries/2');
});

test('each page has the box, with what was searched for', async () => {
  const ops = await shop();
  for (const path of [
    '/',
    '/stock',
    '/drift',
    '/deliveries',
    '/runs',
    '/variants/100',
    '/deliveries/2',
    '/nowhere',
  ]) {
    const { text } = await ops.ask(path, { headers: { accept: 'text/html' } });
    expect(text, path).toMatch(/<form[^>]*action="\/search"[^]*?name="q"/);
  }
  expect((await search(ops, 'TS-RED')).text).toMatch(/name="q"\s+value="TS-RED"/);
});
