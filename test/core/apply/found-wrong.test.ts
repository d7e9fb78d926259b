/** Histories that once left a wrong value without suspicion. */
import { describe, expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { present } from '../../shared/present.ts';
import {
  T0,
  Mirror,
  change,
  mirrorAfterRead,
  productSnapshot,
  single,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const AT = T0 + 600 * S;

const totalOnly = (availableQty: number, kind: 'own' | 'pulled' = 'own') =>
  productSnapshot([variantSnapshot(null, { availableQty, kind })]);

function deliver(
  mirror: Mirror,
  atMs: number,
  over: Partial<StockChange> & { old: number; new: number },
): void {
  mirror.deliver(atMs, change({ updateTimeMs: atMs, ...over }));
}

describe('details without warehouses', () => {
  function known(): Mirror {
    const mirror = mirrorAfterRead(totalOnly(6));
    deliver(mirror, AT - 60 * S, { old: 6, new: 5 });
    mirror.read(totalOnly(5), { sentAtMs: AT - 30 * S });
    expect([mirror.qty(), mirror.total(), mirror.reason()]).toEqual([5, 5, null]);
    return mirror;
  }

  test.each([
    ['in its window', 0],
    ['before its window', -20 * S],
  ])('a late change that the total of a read may hold, %s, asks for a read', (_, stampedMs) => {
    const mirror = known();
    // 5→4 at AT, and 4→5 is lost. The read sees both.
    mirror.read(totalOnly(5), { sentAtMs: AT + S });
    deliver(mirror, AT + 3 * S, { old: 5, new: 4, updateTimeMs: AT + stampedMs });
    expect(mirror.reason()).toBe('derived');
    mirror.read(totalOnly(5), { sentAtMs: AT + 5 * S });
    expect([mirror.total(), mirror.reason()]).toEqual([5, null]);
  });

  test('a late change that contradicts its level, and that the total may hold, asks for it as a conflict', () => {
    const mirror = known();
    mirror.read(totalOnly(5), { sentAtMs: AT + S });
    deliver(mirror, AT + 3 * S, { old: 5, new: 7, updateTimeMs: AT - 90 * S });
    expect(mirror.reason()).toBe('conflict');
  });
});

describe('two reads that may have been answered in the other order', () => {
  /** It may show a change that the next read, from a slower replica, does not. */
  const slow = { sentAtMs: AT - 2_500, receivedAtMs: AT + 500 };
  const quick = { sentAtMs: AT + 600 };
  const settling = { sentAtMs: AT + 2_600 };

  test('do not repeat reads endlessly after the clock was set back', () => {
    const mirror = mirrorAfterRead(two);
    mirror.read(two, { sentAtMs: AT + 3_600 * S });
    mirror.requestReads(AT, 'operator', ['10']);
    mirror.read(two, { sentAtMs: AT + 10 * S });
    expect(mirror.tables.readRequest('10')).toMatchObject({
      reason: 'operator',
      notBeforeMs: AT + 3_600 * S,
    });
    mirror.read(two, { sentAtMs: AT + 3_601 * S });
    expect(mirror.reason()).toBeNull();
  });

  const two = productSnapshot([
    variantSnapshot({ 1: 5, 2: 6 }),
    variantSnapshot({ 1: 1 }, { variantId: '101' }),
  ]);
  const gone = [
    ['variant', productSnapshot([variantSnapshot({ 1: 5, 2: 6 })])],
    [
      'warehouse',
      productSnapshot([variantSnapshot({ 1: 5 }), variantSnapshot({ 1: 1 }, { variantId: '101' })]),
    ],
    ['product', null],
  ] as const;
  test.each(gone)('the removal of a %s', (_, after) => {
    const mirror = mirrorAfterRead(two);
    mirror.read(productSnapshot([variantSnapshot({ 1: 3 }, { variantId: '201' })]), {
      sentAtMs: T0,
      productId: '20',
    });
    mirror.read(after, slow);
    expect(mirror.reason()).toBe('confirm_removal');
    mirror.read(two, quick);
    expect(mirror.reason()).toBe('conflict');
    mirror.read(after, settling);
    expect(mirror.reason()).toBe('confirm_removal');
    mirror.list(AT + 10 * S);
    mirror.read(after, { sentAtMs: AT + 33 * S });
    expect(mirror.reason()).toBeNull();
    const { variants, levels } = mirror.tables;
    const goneAtMs = [...variants.values(), ...levels.values()].map((row) => row.goneAtMs);
    expect(goneAtMs.some((atMs) => atMs !== null)).toBe(true);
  });
});

describe('a Date ten minutes ahead of the stamps', () => {
  const AHEAD_MS = 600 * S;
  const WAREHOUSES = ['1', '2', '3', '4'];
  const levels = (qty: Readonly<Record<string, number>>) => productSnapshot([variantSnapshot(qty)]);

  /** Prompt changes a minute apart; requested reads follow 2 s later. @returns which were applied at once. */
  function follow(mirror: Mirror, count: number, qty: Record<string, number>, aheadMs: number) {
    const shown: boolean[] = [];
    const reads: boolean[] = [];
    for (let i = 0; i < count; i += 1) {
      const atMs = AT + i * 60 * S;
      const warehouseId = present(WAREHOUSES[i % WAREHOUSES.length]);
      const old = present(qty[warehouseId]);
      qty[warehouseId] = old - 1;
      deliver(mirror, atMs, { warehouseId, old, new: old - 1, updateTimeMs: atMs - 50 });
      shown.push(mirror.qty('100', warehouseId) === old - 1);
      reads.push(mirror.reason() !== null);
      if (mirror.reason() === null) continue;
      mirror.read(levels(qty), { sentAtMs: atMs + 2 * S, serverDateMs: atMs + 2 * S + aheadMs });
      expect(mirror.reason()).toBeNull();
    }
    return { shown, reads };
  }

  test('is soon ignored, so that prompt changes apply at once without reads', () => {
    const qty = { 1: 100, 2: 100, 3: 100, 4: 100 };
    const mirror = new Mirror();
    mirror.read(levels(qty), { sentAtMs: AT - 60 * S, serverDateMs: AT - 60 * S + AHEAD_MS });
    const { shown, reads } = follow(mirror, 40, qty, AHEAD_MS);
    expect(shown.slice(4)).not.toContain(false);
    expect(reads.filter(Boolean).length).toBeLessThanOrEqual(5);
    expect(reads.slice(5)).not.toContain(true);
    for (const [warehouseId, level] of Object.entries(qty))
      expect(mirror.qty('100', warehouseId)).toBe(level);
  });

  test('is reported when ignored and when used again', () => {
    const mirror = mirrorAfterRead(single(50));
    mirror.read(single(50), { sentAtMs: AT, serverDateMs: AT + AHEAD_MS });
    const dates: unknown[] = [];
    for (let i = 0; i < 5; i += 1) {
      const atMs = AT + (i + 1) * 60 * S;
      const facts = mirror.deliver(atMs, change({ old: 50 - i, new: 49 - i, updateTimeMs: atMs - 50 }));
      dates.push(...facts.filter(({ kind }) => kind === 'date'));
      mirror.read(single(49 - i), { sentAtMs: atMs + 3 * S, serverDateMs: atMs + 3 * S + AHEAD_MS });
    }
    expect(dates).toEqual([{ kind: 'date', isDropped: true }]);
    const facts = mirror.read(single(45), { sentAtMs: AT + 1_000 * S });
    expect(facts).toContainEqual({ kind: 'date', isDropped: false });
  });
});
