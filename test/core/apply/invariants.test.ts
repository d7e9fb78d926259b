/** Inputs and writers that would break what must always hold (docs/architecture.md#invariants). */
import { expect, test } from 'vitest';
import { assertSighted } from '../../../src/core/apply/remove-rows.ts';
import { writeGap, writeLevel } from '../../../src/core/apply/rows.ts';
import { UnitOfWork } from '../../../src/core/apply/unit-of-work.ts';
import type { Gap } from '../../../src/core/model.ts';
import {
  missedAt,
  mirrorAfterRead,
  productSnapshot,
  stockLevel,
  T0,
  VARIANT,
  variantSnapshot,
} from '../builders.ts';

const MINUTE = 60_000;

function unitOfWork({ tables } = mirrorAfterRead()): UnitOfWork {
  return new UnitOfWork(tables, missedAt(T0), () => undefined);
}

test('rejects a removal without a sighting at least 30 s before', () => {
  const read = { sentAtMs: T0 };
  assertSighted({ missingAtMs: T0 - 30_000 }, read);
  expect(() => assertSighted({ missingAtMs: T0 - 29_999 }, read)).toThrow(
    `a removal is preceded by a sighting: first missing at ${T0 - 29_999}, removed by a read sent at ${T0}`,
  );
  expect(() => assertSighted({ missingAtMs: null }, read)).toThrow('a removal is preceded by a sighting');
});

test('rejects a gap that the read after its grace would not meet', () => {
  const gap: Gap = {
    kind: 'loss',
    variantId: VARIANT,
    warehouseId: '1',
    inboxSeq: 1,
    openedAtMs: T0,
    dueAtMs: T0 + 2_000,
    fromQty: 5,
    toQty: 4,
  };
  const mirror = mirrorAfterRead();
  writeGap(unitOfWork(mirror), { kind: 'opened', gap });
  expect(mirror.gaps()).toHaveLength(1);
  const early = { ...gap, dueAtMs: T0 + 1_999 };
  expect(() => writeGap(unitOfWork(), { kind: 'opened', gap: early })).toThrow(
    `a read after the grace of a gap meets it: opened at ${T0}, due at ${T0 + 1_999}`,
  );
});

test('rejects a level whose event time would fall, and names it', () => {
  const { tables } = mirrorAfterRead();
  const work = new UnitOfWork(tables, missedAt(T0), () => undefined);
  const before = stockLevel();
  writeLevel(work, before, { ...before, qty: 9 });
  expect(() => writeLevel(work, before, { ...before, eventTimeMs: T0 - 1 })).toThrow(
    expect.objectContaining({
      name: 'BrokenInvariant',
      message: `the event time never falls: 100/1, ${T0} to ${T0 - 1}`,
    }),
  );
  expect(tables.stockLevel('100', '1')?.qty).toBe(9);
});

test('rejects an answer after which a total would not be the sum of its levels', () => {
  const mirror = mirrorAfterRead(productSnapshot([variantSnapshot({ 1: 5, 2: 7 })]));
  // A delivery touched the level, and by a defect not its variant.
  mirror.tables.putStockLevel(stockLevel({ qty: 4, eventAtMs: T0 + MINUTE }));
  const answer = productSnapshot([variantSnapshot({ 1: 5, 2: 7 })]);
  expect(() => mirror.read(answer, { sentAtMs: T0 + MINUTE })).toThrow(
    'a total is the sum of its levels: 100: 12 instead of 11',
  );
});
