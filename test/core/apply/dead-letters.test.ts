import { expect, test } from 'vitest';
import type { StockChange, Unreadable } from '../../../src/core/input.ts';
import { T0, Mirror, change, kinds, mirrorAfterRead, single } from '../builders.ts';

const S = 1_000;

function deliver(mirror: Mirror, atMs: number, unreadable: Unreadable, ...changes: StockChange[]) {
  return mirror.applyInput({
    kind: 'delivery',
    isTest: false,
    inboxSeq: mirror.seq + 1,
    atMs,
    requestId: 'q',
    changes,
    unreadable: [unreadable],
  });
}

function deliverDeadLetter(mirror: Mirror, atMs: number, variantId: string | null) {
  return deliver(mirror, atMs, { itemIndex: 0, problem: 'old is not a number', variantId });
}

test('reads the product of a known variant', () => {
  const mirror = mirrorAfterRead();
  expect(kinds(deliverDeadLetter(mirror, T0 + 60 * S, '100'))).toEqual(['dead_letter', 'read_requested']);
  expect(mirror.tables.deadLetters).toMatchObject([{ inboxSeq: 2, unreadable: { variantId: '100' } }]);
  expect([mirror.qty(), mirror.reason()]).toEqual([5, 'dead_letter']);
});

test('looks up an unknown variant, which a read in progress does not settle', () => {
  const mirror = new Mirror();
  deliverDeadLetter(mirror, T0, '100');
  expect(mirror.tables.variant('100')?.lookupAtMs).toBe(T0);
  mirror.read(single(5), { sentAtMs: T0 - S, receivedAtMs: T0 + S });
  expect([mirror.total(), mirror.reason()]).toEqual([5, 'conflict']);
  mirror.read(single(5), { sentAtMs: T0 + 3 * S });
  expect(mirror.reason()).toBeNull();
});

test('suspects nothing after an event of an unknown type', () => {
  const mirror = mirrorAfterRead();
  const before = mirror.tables.state().trustedAfterMs;
  const unreadable = { itemIndex: null, problem: 'unknown event type "x"', variantId: null };
  const facts = deliver(mirror, T0 + 61 * S, { ...unreadable, unknownEvent: true });
  expect(kinds(facts)).toEqual(['dead_letter']);
  expect(mirror.tables.state().trustedAfterMs).toBe(before);
});

test('makes everything suspect for a body that names no variant, at most once in 15 minutes', () => {
  const mirror = mirrorAfterRead();
  const after = (atMs: number) => {
    const facts = kinds(deliverDeadLetter(mirror, atMs, null));
    return [mirror.tables.state().trustedAfterMs, facts.includes('loss_suspected')];
  };
  const firstMs = T0 + 60 * S;
  const againMs = firstMs + 15 * 60 * S;
  expect(after(firstMs)).toEqual([firstMs + 2 * S, false]);
  // The scheduled reads come sooner.
  expect(after(againMs - 1)).toEqual([firstMs + 2 * S, true]);
  expect(after(againMs)).toEqual([againMs + 2 * S, false]);
});

test('merges the other items of a broken one', () => {
  const mirror = mirrorAfterRead();
  const broken = { itemIndex: 1, problem: 'no id', variantId: null };
  deliver(mirror, T0 + 60 * S, broken, change({ old: 5, new: 4, updateTimeMs: T0 + 60 * S }));
  expect(mirror.qty()).toBe(4);
  expect(mirror.tables.state().lastDeliveryAtMs).toBe(T0 + 60 * S);
});
