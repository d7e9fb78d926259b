import { expect, test } from 'vitest';
import { T0, Mirror, change, kinds, mirrorAfterRead, single } from '../builders.ts';

const S = 1_000;

function unmapped(): Mirror {
  const mirror = new Mirror();
  const facts = mirror.deliver(T0, change({ old: 5, new: 4, updateTimeMs: T0 }));
  expect(kinds(facts)).toEqual(['change']);
  return mirror;
}

const missed = (mirror: Mirror, sentAtMs: number) =>
  mirror.applyInput({ kind: 'lookup_missed', atMs: sentAtMs + 500, sentAtMs, variantIds: ['100'] });

test('looks up an unknown variant at once and keeps its quantity', () => {
  const mirror = unmapped();
  expect([mirror.qty(), mirror.total()]).toEqual([4, null]);
  expect(mirror.tables.variant('100')).toMatchObject({ productId: null, sku: 'S-100', lookupAtMs: T0 });
});

test('becomes a tombstone after two sweeps 30 s apart', () => {
  const mirror = unmapped();
  missed(mirror, T0 + 2 * S);
  expect(mirror.tables.variant('100')).toMatchObject({
    missingAtMs: T0 + 2 * S,
    lookupAtMs: T0 + 32 * S,
    goneAtMs: null,
  });
  missed(mirror, T0 + 32 * S - 1);
  expect(mirror.qty()).toBe(4);
  const facts = missed(mirror, T0 + 32 * S);
  expect(facts).toContainEqual({ kind: 'removed', what: 'variant', id: '100', quantities: 1 });
  expect([mirror.qty(), mirror.tables.variant('100')?.lookupAtMs]).toEqual([null, null]);
});

test('has no gaps and no row of a total in the feed once it is removed', () => {
  const mirror = unmapped();
  mirror.deliver(T0 + S, change({ old: 9, new: 8, updateTimeMs: T0 + S }));
  mirror.deliver(T0 + S, change({ warehouseId: '2', old: 9, new: 8, updateTimeMs: T0 + S }));
  expect(mirror.gaps()).toHaveLength(1);
  for (const sentAtMs of [T0 + 3 * S, T0 + 33 * S]) missed(mirror, sentAtMs);
  expect(mirror.gaps()).toEqual([]);
  expect(mirror.rows().at(-1)).toMatchObject({ oldQty: 8, newQty: null, reason: 'removed', sku: 'S-100' });
  expect(mirror.rows('100', null)).toEqual([]);
});

test('a miss changes nothing if the variant has been found, or is not known at all', () => {
  const mirror = mirrorAfterRead();
  const before = mirror.tables.variant('100');
  for (const sentAtMs of [T0 + 9 * S, T0 + 90 * S]) {
    mirror.applyInput({ kind: 'lookup_missed', atMs: sentAtMs, sentAtMs, variantIds: ['999', '100'] });
  }
  expect(mirror.tables.variant('100')).toEqual(before);
  expect(mirror.tables.variant('999')).toBeUndefined();
});

test('ignores a sweep that began less than 2 s after its last delivery', () => {
  const mirror = unmapped();
  missed(mirror, T0 + 2 * S - 1);
  expect(mirror.tables.variant('100')).toMatchObject({ missingAtMs: null, lookupAtMs: T0 + 2 * S });
});

test('begins its search again if a change names it between two sweeps', () => {
  const mirror = unmapped();
  missed(mirror, T0 + 2 * S);
  mirror.deliver(T0 + 20 * S, change({ old: 4, new: 3, updateTimeMs: T0 + 20 * S }));
  expect(mirror.tables.variant('100')).toMatchObject({ missingAtMs: null, lookupAtMs: T0 + 20 * S });
  missed(mirror, T0 + 60 * S);
  expect(mirror.qty()).toBe(3);
  missed(mirror, T0 + 90 * S - 1);
  expect(mirror.qty()).toBe(3);
  missed(mirror, T0 + 90 * S);
  expect(mirror.qty()).toBeNull();
});

test('is looked up when a read of it is requested', () => {
  const mirror = new Mirror();
  for (const atMs of [T0, T0 + 500]) mirror.requestReads(atMs, 'not_stored', [], ['100']);
  expect(mirror.tables.variant('100')).toMatchObject({ lookupAtMs: T0, eventAtMs: T0 + 500 });
  expect(mirror.tables.readRequests.size).toBe(0);
  mirror.read(single(4), { sentAtMs: T0 - S, receivedAtMs: T0 + S });
  expect(mirror.reason()).toBe('conflict');
});

test('named less than 2 s after its removal, is mapped by a read at once and restored by the next one', () => {
  const mirror = unmapped();
  for (const sentAtMs of [T0 + 2 * S, T0 + 32 * S]) missed(mirror, sentAtMs);
  mirror.deliver(T0 + 33 * S, change({ old: 5, new: 4, updateTimeMs: T0 + 33 * S }));
  mirror.read(single(4), { sentAtMs: T0 + 34 * S });
  expect(mirror.tables.variant('100')).toMatchObject({ productId: '10', lookupAtMs: null });
  expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([null, null, 'conflict']);
  mirror.read(single(4), { sentAtMs: T0 + 36 * S });
  expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([4, 4, null]);
});
