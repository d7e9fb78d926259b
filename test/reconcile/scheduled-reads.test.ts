import { expect, test } from 'vitest';
import { findScheduledReads } from '../../src/reconcile/scheduled-reads.ts';
import type { StoreReader } from '../../src/mirror/reader/store-reader.ts';
import { newStore, type OpenedStore } from './mirror.ts';

const LIVE = new AbortController().signal;

/** @param movedAtMs when each variant of each product had its latest delivery; each was read at 100. */
function setUp(movedAtMs: Readonly<Record<string, readonly number[]>>): OpenedStore {
  const store = newStore();
  for (const [productId, variants] of Object.entries(movedAtMs)) {
    store.change(
      'INSERT INTO products (product_id, read_seq, read_at_ms, has_bundle) VALUES (?, 0, 100, 0)',
      productId,
    );
    variants.forEach((eventAtMs, i) =>
      store.change(
        `INSERT INTO variants (variant_id, product_id, name, kind, allow_negative_stock, bundled_by_count, as_of_ms,
           event_seq, event_at_ms, change_seq) VALUES (?, ?, '', 'own', 0, 0, 0, 0, ?, 0)`,
        `${productId}-${i}`,
        productId,
        eventAtMs,
      ),
    );
  }
  return store;
}

const MOVED = { 1: [99, 100], 2: [99], 3: [400, 0, 0, 0, 0], 4: [0, 0, 300], 5: [98], 6: [200], 7: [] };

test.each([1, 2, 3, 100])(
  'the walk finds the same whatever its portions: %i variants',
  async (variantsAtOnce) => {
    const { reader } = setUp(MOVED);
    const find = (limit: number) => findScheduledReads(reader, { limit, signal: LIVE, variantsAtOnce });
    expect(await find(10)).toEqual(['3', '4', '6', '1']);
    expect(await find(2)).toEqual(['3', '4']);
  },
);

test('it keeps the latest although more than it may return are due in one portion', async () => {
  const { reader } = setUp({ 1: [101], 2: [102], 3: [107], 4: [105], 5: [106], 6: [108] });
  const find = (limit: number) => findScheduledReads(reader, { limit, signal: LIVE, variantsAtOnce: 5 });
  expect(await find(2)).toEqual(['6', '3']);
  expect(await find(1)).toEqual(['6']);
});

test('a walk that is stopped asks nothing more', async () => {
  const { reader } = setUp(MOVED);
  const stop = new AbortController();
  let asked = 0;
  const counting: StoreReader = {
    ask: (...question) => {
      asked += 1;
      stop.abort(new Error('stopped'));
      return reader.ask(...question);
    },
  };
  const walk = findScheduledReads(counting, { limit: 10, signal: stop.signal, variantsAtOnce: 1 });
  await expect(walk).rejects.toThrow('stopped');
  expect(asked).toBe(1);
});
