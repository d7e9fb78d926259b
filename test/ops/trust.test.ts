/** Trust in the feed (docs/http-api.md#trust). */
import { describe, expect, test, vi } from 'vitest';
import { TrustFeed } from '../../src/ops/feed/trust-feed.ts';
import { trust } from '../../src/mirror/queries/trust.ts';
import { eventually } from '../process/wait.ts';
import { delivery, detail, DirectWriter, item, readInput, T0, values } from '../mirror/mirror-file.ts';
import { afterAnyHistory } from '../mirror/random-history.ts';
import { suspectMirror } from '../mirror/suspect-mirror.ts';
import { newDatabases } from '../reconcile/mirror.ts';
import { EventReader } from './events.ts';
import { startOps } from './harness.ts';

const untrustedIn = ({ db }: DirectWriter): unknown[] =>
  values(
    db,
    `SELECT variant_id || '/' || coalesce(warehouse_id, '') || ' ' || why_not FROM mirror_sellable WHERE trusted = 0 ORDER BY 1`,
  );
const listed = ({ db }: DirectWriter): unknown[] | undefined =>
  trust(db)
    .untrusted?.map((row) => `${row.variant_id}/${row.warehouse_id ?? ''} ${row.why_not}`)
    .toSorted();

test('lists every row that is not trusted, and no other', () => {
  const writer = suspectMirror();
  expect(trust(writer.db)).toMatchObject({ state: 'stale', cause: 'stopped' });
  expect(listed(writer)).toEqual(untrustedIn(writer));
  expect(untrustedIn(writer).every((row) => String(row).endsWith(' state'))).toBe(true);
  writer.beat();
  expect(trust(writer.db)).toMatchObject({ state: 'live', cause: null });
  expect(listed(writer)).toEqual(untrustedIn(writer));
  expect(untrustedIn(writer).length).toBeGreaterThan(10);
});

test('lists the same rows as SQL after any history', () => {
  const seen = new Set<unknown>();
  afterAnyHistory(60, (writer, played) => {
    played(() => {
      writer.db.exec(`UPDATE service_state SET state = 'live', alive_at_ms = ${Date.now()}`);
      expect(listed(writer)).toEqual(untrustedIn(writer));
      for (const { why_not: why } of trust(writer.db).untrusted ?? []) seen.add(why);
    });
  });
  expect(seen.size).toBeGreaterThan(3);
});

test.each([
  [1_000, 1_000],
  [1_001, undefined],
])('lists no more than 1,000 rows: of %i, %s', (levels, expected) => {
  const writer = new DirectWriter();
  const variants = Array.from({ length: levels }, (_, n) => ({ id: String(5_000 + n), levels: { 1: 5 } }));
  writer.read('10', detail('10', variants), T0);
  expect(listed(writer)?.length).toBe(expected);
  writer.beat();
  expect(listed(writer)).toEqual([]);
  writer.requestReads('not_stored', ['10']);
  expect(listed(writer)?.length).toBe(expected);
});

describe('counts rows that are not trusted, not products and variants that may have some', () => {
  const LATER = T0 + 20_000;

  test('after a webhook with thousands of unknown variants, which are removed in the end', () => {
    const writer = new DirectWriter();
    writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), T0);
    const ids = Array.from({ length: 2_100 }, (_, n) => String(5_000 + n));
    writer.deliver(delivery('a', ...ids.map((id) => item({ id, update_time: T0 }))), T0);
    writer.beat();
    expect(trust(writer.db).untrusted).toBeNull();
    for (const atMs of [LATER, LATER + 60_000]) {
      writer.append({ kind: 'lookup_missed', atMs, sentAtMs: atMs, variantIds: ids });
    }
    expect(listed(writer)).toEqual([]);
    writer.requestReads('not_stored', ['10']);
    expect(listed(writer)).toEqual(['100/1 read_due']);
  });

  test('while bundles are due, whose products have thousands of other variants', () => {
    const writer = new DirectWriter();
    writer.read('10', detail('10', [{ id: '100', levels: { 1: 5 }, more: { bundled_by_count: 9 } }]), T0);
    for (let product = 1_000; product < 1_220; product += 1) {
      const own = Array.from({ length: 10 }, (_, n) => ({ id: `${product}${n}`, levels: { 1: 5 } }));
      const bundle = { id: `${product}99`, levels: null, total: 2, more: { product_bundle_id: '3' } };
      writer.read(String(product), detail(String(product), [...own, bundle]), T0);
    }
    writer.beat();
    writer.deliver(delivery('a', item({ old: 5, new: 4, update_time: LATER })), LATER);
    expect(listed(writer)).toHaveLength(220);
    expect(listed(writer)).toEqual(untrustedIn(writer));
  });

  test('while an operator reads thousands of products', () => {
    const writer = new DirectWriter();
    const productIds = Array.from({ length: 2_500 }, (_, n) => String(1_000 + n));
    for (const id of productIds) writer.read(id, detail(id, [{ id: `${id}0`, levels: { 1: 5 } }]), T0);
    writer.beat();
    writer.requestReads('operator', productIds);
    expect(listed(writer)).toEqual([]);
    writer.requestReads('not_stored', ['1000']);
    expect(listed(writer)).toEqual(['10000/1 read_due']);
  });
});

test('is computed once a second, however many ask', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const ask = vi.fn(() => Promise.resolve({ state: 'live', cause: null, untrusted: [], untrusted_count: 0 }));
  const feed = new TrustFeed({ reader: { ask: ask as never }, now: () => 7 });
  for (let n = 0; n < 5; n += 1) await feed.now();
  expect(ask).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1_000);
  expect(await feed.now()).toEqual({
    state: 'live',
    cause: null,
    as_of: 7,
    untrusted: [],
    untrusted_count: 0,
  });
  expect(ask).toHaveBeenCalledTimes(2);
  vi.useRealTimers();
});

test('comes with pages on request, and with a stream at its start and when it changes', async () => {
  const databases = newDatabases();
  const ops = await startOps(databases);
  await databases.mirror.append(
    readInput('10', detail('10', [{ id: '100', levels: { 1: 5 } }]), { sentAtMs: T0 }),
  );
  databases.change('UPDATE service_state SET last_full_sync_at_ms = 1');
  const page = await ops.ask('/api/changes?trust=1');
  expect(page.json).toMatchObject({
    trust: { state: 'live', cause: null, untrusted: [], untrusted_count: 0 },
  });
  expect((await ops.ask('/api/changes')).json).not.toHaveProperty('trust');
  const reader = new EventReader(`${ops.url}/api/changes/stream?after=0`);
  await eventually(() => reader.of('trust').length === 1, { what: 'the first event' });
  expect(reader.of('trust')[0]).toMatchObject({ data: { state: 'live', untrusted: [] } });
  await databases.deliver(delivery('a', item({ old: 4, new: 3, update_time: T0 + 20_000 })), T0 + 20_000);
  await eventually(() => reader.of('trust').length === 2, { what: 'the change' });
  expect(reader.of('trust')[1]).toMatchObject({
    data: {
      state: 'live',
      untrusted: [{ variant_id: '100', warehouse_id: '1', why_not: 'gap' }],
      untrusted_count: 1,
    },
  });
});
