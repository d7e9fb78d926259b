/** Inputs and writers that would break what must always hold (docs/architecture.md#invariants). */
import { expect, test } from 'vitest';
import { writeLevel } from '../../../src/core/apply/rows.ts';
import { UnitOfWork } from '../../../src/core/apply/unit-of-work.ts';
import { missedAt, mirrorAfterRead, productSnapshot, stockLevel, T0, variantSnapshot } from '../builders.ts';

const MINUTE = 60_000;

test('rejects a level whose event time would fall', () => {
  const { tables } = mirrorAfterRead();
  const work = new UnitOfWork(tables, missedAt(T0), () => undefined);
  const before = stockLevel();
  writeLevel(work, before, { ...before, qty: 9 });
  expect(() => writeLevel(work, before, { ...before, eventTimeMs: T0 - 1 })).toThrow(
    'the event time never falls',
  );
  expect(tables.stockLevel('100', '1')?.qty).toBe(9);
});

test('accepts an answer that contradicts itself: its total is not the sum of its levels', () => {
  const mirror = mirrorAfterRead();
  const odd = productSnapshot([variantSnapshot({ 1: 5 }, { availableQty: 7 })]);
  expect(() => mirror.read(odd, { sentAtMs: T0 + MINUTE })).not.toThrow();
  expect([mirror.qty(), mirror.total()]).toEqual([5, 7]);
});
