import { expect, test } from 'vitest';
import {
  T0,
  Mirror,
  change,
  kinds,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;

function deliverDeadLetter(mirror: Mirror, atMs: number, variantId: string | null) {
  const unreadable = [{ itemIndex: 0, problem: 'old is not a number', variantId }];
  return mirror.applyEntry({ kind: 'delivery', atMs, requestId: 'q', changes: [], unreadable });
}

test('a known variant: kept, and its product is read', () => {
  const mirror = mirrorAfterRead();
  expect(kinds(deliverDeadLetter(mirror, T0 + 60 * S, '100'))).toEqual(['quarantined', 'obliged']);
  expect(mirror.tables.deadLetters).toMatchObject([{ logSeq: 2, unreadable: { variantId: '100' } }]);
  expect([mirror.qty(), mirror.reason()]).toEqual([5, 'quarantine']);
});

test('an unknown variant: looked up, and a read under way does not settle it', () => {
  const mirror = new Mirror();
  deliverDeadLetter(mirror, T0, '100');
  expect(mirror.tables.variant('100')?.lookupAtMs).toBe(T0);
  mirror.read(single(5), { sentAtMs: T0 - S, receivedAtMs: T0 + S, s0: 0 });
  expect([mirror.total(), mirror.reason()]).toEqual([5, 'conflict']);
  mirror.read(single(5), { sentAtMs: T0 + 3 * S });
  expect(mirror.reason()).toBeNull();
});

test('no variant: what moves is read, once a minute', () => {
  const mirror = mirrorAfterRead();
  mirror.read(productSnapshot([variantSnapshot({ 1: 1 }, { variantId: '200' })]), {
    sentAtMs: T0,
    productId: '20',
  });
  deliverDeadLetter(mirror, T0 + 60 * S, null);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 60 * S);
  mirror.applyEntry({ kind: 'due', atMs: T0 + 61 * S, what: 'canary' });
  expect([mirror.reason('10'), mirror.reason('20')]).toEqual(['canary', 'canary']);
  expect(mirror.tables.state()).toMatchObject({ lossSweepDueAtMs: null, lossProvedAtMs: T0 + 61 * S });

  deliverDeadLetter(mirror, T0 + 62 * S, null);
  deliverDeadLetter(mirror, T0 + 63 * S, null);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 121 * S);
});

test('an unknown event type: what moves is read, once an hour, and sooner when something else asks', () => {
  const H = 3_600 * S;
  const mirror = mirrorAfterRead();
  const unknownEvent = (atMs: number) =>
    mirror.applyEntry({
      kind: 'delivery',
      atMs,
      requestId: 'q',
      changes: [],
      unreadable: [
        { itemIndex: null, problem: 'unknown event type "x"', variantId: null, unknownEvent: true },
      ],
    });
  unknownEvent(T0 + 60 * S);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 60 * S);
  mirror.applyEntry({ kind: 'due', atMs: T0 + 61 * S, what: 'canary' });
  for (let second = 62; second < 100; second += 1) unknownEvent(T0 + second * S);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 61 * S + H);

  deliverDeadLetter(mirror, T0 + 200 * S, null);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 200 * S);
  unknownEvent(T0 + 201 * S);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 200 * S);
});

test('no variant, just after a loss was proven: what moves is read at once all the same', () => {
  const mirror = mirrorAfterRead();
  mirror.deliver(T0 + 60 * S, change({ old: 4, new: 3, updateTimeMs: T0 + 60 * S }));
  expect(kinds(mirror.read(single(3), { sentAtMs: T0 + 63 * S }))).toContain('gap_proved');
  deliverDeadLetter(mirror, T0 + 64 * S, null);
  expect(mirror.tables.state().lossSweepDueAtMs).toBe(T0 + 64 * S);
});

test('a broken item does not hold back its neighbours', () => {
  const mirror = mirrorAfterRead();
  mirror.applyEntry({
    kind: 'delivery',
    atMs: T0 + 60 * S,
    requestId: 'q',
    changes: [change({ old: 5, new: 4, updateTimeMs: T0 + 60 * S })],
    unreadable: [{ itemIndex: 1, problem: 'no id', variantId: null }],
  });
  expect(mirror.qty()).toBe(4);
  expect(mirror.tables.state().lastDeliveryAtMs).toBe(T0 + 60 * S);
});
