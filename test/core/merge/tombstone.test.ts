/** Changes that name removed rows (docs/architecture.md#removals), or a variant of unknown product. */
import { expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { asksForRead } from '../../../src/core/merge/judge-change.ts';
import type { Variant } from '../../../src/core/model.ts';
import { stockLevel, T0 } from '../builders.ts';
import { AT, judge, next, sameClocks, stampedAhead, variant, type Known } from './judge-one-change.ts';

const gone = stockLevel({ goneAtMs: T0 + 1_000, readLoMs: T0, readHiMs: T0 + 2_000 });

test.each<[which: string, known: Variant]>([
  ['of unknown product', variant({ productId: null })],
  ['that is removed and being searched for', variant({ goneAtMs: T0, lookupAtMs: T0 })],
])('reads no product for a variant %s', (_, known) => {
  const verdict = judge({ variant: known, level: gone }, next);
  expect([verdict.doubts, asksForRead(verdict, known)]).toEqual([['order unknown'], false]);
});

const pulled = variant({ kind: 'pulled' });

test.each<[which: string, known: Known, delivered: StockChange, isRestored: boolean]>([
  ['that details list', {}, next, false],
  ['that a read has shown since', { level: { ...gone, verifiedAtMs: T0 + 1_001 } }, next, true],
  ['that no detail lists', { variant: pulled }, next, true],
  ['of a removed variant', { variant: { ...pulled, goneAtMs: T0 } }, next, false],
  ['named by a change stamped ahead', { state: sameClocks, variant: pulled }, stampedAhead, false],
  [
    'named by a change of the instant of the last one',
    { variant: pulled, level: { ...gone, eventTimeMs: AT } },
    next,
    false,
  ],
])('a removed level %s is restored: %s', (_, known, delivered, isRestored) => {
  const level = known.level ?? gone;
  const verdict = judge({ ...known, level }, delivered);
  expect(verdict.branch).toBe(isRestored ? 'gone, shown again' : 'gone, uncertain');
  expect(verdict.level).toMatchObject(
    isRestored
      ? { qty: 4, goneAtMs: null, onHandAsOfMs: null }
      : { qty: level.qty, goneAtMs: level.goneAtMs },
  );
});
