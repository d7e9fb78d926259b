/** Changes that name removed rows (docs/architecture.md#removals), or a variant of unknown product. */
import { expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { MOVED_LOOKUP_MS } from '../../../src/core/limits.ts';
import { asksForRead } from '../../../src/core/merge/judge-change.ts';
import type { Variant } from '../../../src/core/model.ts';
import { change, stockLevel, T0 } from '../builders.ts';
import {
  AT,
  futureDated,
  judge,
  next,
  sameClocks,
  stampedAhead,
  variant,
  type Known,
} from './judge-one-change.ts';

const removed = variant({ goneAtMs: T0 });
const gone = stockLevel({ goneAtMs: T0 + 1_000, readLoMs: T0, readHiMs: T0 + 2_000 });

test.each<[rule: string, known: Known, delivered: StockChange, lookupAtMs: number | null]>([
  ['without a product', { variant: variant({ productId: null }) }, next, null],
  ['without a product, in doubt', { variant: variant({ productId: null }), level: undefined }, next, AT],
  [
    'that is being searched for',
    { variant: variant({ productId: null, lookupAtMs: T0 }), level: undefined },
    next,
    T0,
  ],
  ['removed, after a newer change', { variant: removed, level: gone }, next, AT + MOVED_LOOKUP_MS],
  [
    'removed, after a change in the window of the read',
    { variant: removed, level: gone },
    change({ old: 5, new: 4, updateTimeMs: T0 + 2_000 }),
    AT + MOVED_LOOKUP_MS,
  ],
  [
    'removed, after a change that the read saw',
    { variant: removed, level: gone },
    change({ old: 5, new: 4, updateTimeMs: T0 - 1 }),
    null,
  ],
  [
    'removed, after a change of a new warehouse',
    { variant: removed, level: undefined },
    next,
    AT + MOVED_LOOKUP_MS,
  ],
  [
    'removed, after a change stamped ahead',
    { state: sameClocks, variant: removed, level: gone },
    stampedAhead,
    AT + MOVED_LOOKUP_MS,
  ],
  [
    'removed, after a future-dated change',
    { variant: removed, level: gone },
    futureDated,
    AT + MOVED_LOOKUP_MS,
  ],
  ['of which one level was removed, after a newer change', { level: gone }, next, null],
])('a variant %s is searched for at %s', (_, known, delivered, lookupAtMs) => {
  expect(judge(known, delivered).variant).toMatchObject({ lookupAtMs, eventAtMs: AT });
});

test('a search that has missed the variant once begins again with the next change', () => {
  const missed = variant({ productId: null, lookupAtMs: T0 + 90_000, missingAtMs: T0 });
  expect(judge({ variant: missed }, next).variant).toMatchObject({ lookupAtMs: AT, missingAtMs: null });
});

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
