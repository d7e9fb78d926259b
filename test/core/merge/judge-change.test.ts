/** One row for each reason to read, and for each thing that a change moves (docs/architecture.md#changes). */
import { expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { DATE_CONTRADICTIONS, GAPS_OF_A_LEVEL } from '../../../src/core/limits.ts';
import { asksForRead, type Doubt } from '../../../src/core/merge/judge-change.ts';
import { observeLateness, type OrderVerdict } from '../../../src/core/merge/judge-gap.ts';
import type { Gap, MirrorStateRow } from '../../../src/core/model.ts';
import { change, stockLevel, T0, VARIANT, WAREHOUSE } from '../builders.ts';
import {
  AT,
  INBOX_SEQ,
  judge,
  next,
  sameClocks,
  stampedAhead,
  variant,
  type Known,
} from './judge-one-change.ts';

const gap = (over: Partial<Gap> = {}): Gap => ({
  variantId: VARIANT,
  warehouseId: WAREHOUSE,
  inboxSeq: 3,
  kind: 'loss',
  openedAtMs: T0,
  dueAtMs: T0 + 3_000,
  fromQty: 5,
  toQty: 8,
  ...over,
});

const broken = change({ old: 6, new: 4, updateTimeMs: AT });
const late = change({ old: 5, new: 8, updateTimeMs: T0 - 1 });
const repeated = change({ old: 4, new: 5 });
const lateReturn = change({ old: 3, new: 5, updateTimeMs: T0 - 1 });

test.each<[rule: string, known: Known, delivered: StockChange, doubts: readonly Doubt[]]>([
  ['a change that follows', {}, next, []],
  ['a new level', { level: undefined }, next, ['order unknown']],
  ['a change that the last read may have seen', { level: stockLevel({ readHiMs: AT }) }, next, []],
  [
    'a change that a total without levels may contain',
    { variant: variant({ totalHiMs: AT }) },
    next,
    ['perhaps in the total'],
  ],
  ['a repeated change, which moves no total', { variant: variant({ totalHiMs: AT }) }, repeated, []],
  [
    'a change back to the quantity of a level that the last read left out, and its total lacks',
    { level: stockLevel({ qty: 4, readHiMs: AT, missingAtMs: T0 }) },
    next,
    ['perhaps in the total'],
  ],
  [
    'a change stamped ahead, of a level that a read has shown',
    { state: sameClocks, level: stockLevel({ readHiMs: T0 }) },
    stampedAhead,
    ['order unknown'],
  ],
  ['a change stamped ahead, of a level that no read has shown', { state: sameClocks }, stampedAhead, []],
  [
    'a change stamped ahead, of a total that was read without levels',
    { state: sameClocks, variant: variant({ totalHiMs: T0 }) },
    stampedAhead,
    ['perhaps in the total'],
  ],
  ['a broken chain', {}, broken, []],
  [
    'a chain that one body broke before',
    { gaps: [gap({ inboxSeq: INBOX_SEQ })] },
    broken,
    ['chain broken twice'],
  ],
  [
    'a chain with as many gaps as are kept',
    { gaps: Array.from({ length: GAPS_OF_A_LEVEL }, (_, n) => gap({ inboxSeq: n - 1_000 })) },
    broken,
    ['too many gaps'],
  ],
  [
    'a late change that no gap fits',
    { gaps: [gap({ fromQty: 1, toQty: 2 })] },
    late,
    ['order unknown', 'no gap fits'],
  ],
  ['a late change that closes a gap', { gaps: [gap()] }, late, ['order unknown']],
  [
    'a late change that the last read saw, leading to the quantity',
    { level: stockLevel({ readLoMs: T0 }) },
    lateReturn,
    [],
  ],
  [
    'a late change that the last read saw, leading to another quantity',
    { level: stockLevel({ readLoMs: T0 }) },
    change({ old: 3, new: 4, updateTimeMs: T0 - 1 }),
    ['no gap fits'],
  ],
  [
    'a late change that the last read may have missed, leading to the quantity',
    { level: stockLevel({ readLoMs: T0 - 1 }) },
    lateReturn,
    ['no gap fits'],
  ],
])('%s: reads for %j', (_, known, delivered, doubts) => {
  const verdict = judge(known, delivered);
  expect(verdict.doubts).toEqual(doubts);
  expect(asksForRead(verdict, known.variant ?? variant())).toBe(doubts.length > 0);
});

test.each<[rule: string, delivered: StockChange, verdict: object]>([
  ['no gap if it follows', next, { kind: 'none' }],
  ['the gap whose ends it has', late, { kind: 'closed', gap: gap() }],
  [
    'the start of the gap that begins with its `old`',
    change({ old: 5, new: 7, updateTimeMs: T0 - 1 }),
    { kind: 'narrowed', gap: gap({ fromQty: 7 }) },
  ],
  [
    'the end of the gap that ends with its `new`',
    change({ old: 6, new: 8, updateTimeMs: T0 - 1 }),
    { kind: 'narrowed', gap: gap({ toQty: 6 }) },
  ],
])('a change fills %s', (_, delivered, verdict) => {
  expect(judge({ gaps: [gap()] }, delivered).gap).toEqual(verdict);
});

test('a change that precedes another one of its instant fills a gap', () => {
  const filled = gap({ fromQty: 3, toQty: 4 });
  const verdict = judge({ gaps: [filled] }, change({ old: 3, new: 4 }));
  expect([verdict.branch, verdict.gap]).toEqual(['3 precedes', { kind: 'closed', gap: filled }]);
});

const shownAfterItsChange = stockLevel({ readHiMs: T0 });

test.each<[what: string, order: OrderVerdict, known: Known, delivered: StockChange]>([
  ['a change in the window of the read', 'opened', { level: stockLevel({ readHiMs: AT }) }, next],
  ['the first change after the window', 'ended', { level: shownAfterItsChange }, next],
  ['the first one, though it breaks the chain', 'ended', { level: shownAfterItsChange }, broken],
  ['a further change', 'none', { level: stockLevel({ readHiMs: T0 - 1 }) }, next],
  ['a further change that breaks the chain', 'none', { level: stockLevel({ readHiMs: T0 - 1 }) }, broken],
])('the order of a read and %s: %s', (_, order, known, delivered) => {
  expect(judge(known, delivered).order).toBe(order);
});

test('the lateness to expect rises at once, and falls slowly with prompter changes', () => {
  expect(observeLateness(1_000, 5_000)).toBe(5_000);
  const laterMs = observeLateness(5_000, 1_000);
  expect(laterMs).toBeLessThan(5_000);
  expect(laterMs).toBeGreaterThan(4_000);
});

test.each<[rule: string, known: Known, delivered: StockChange, total: object | null]>([
  ['moves by the difference', {}, next, { oldQty: 50, newQty: 49, isExplained: true }],
  [
    'moves by the difference to the mirror’s quantity',
    {},
    broken,
    { oldQty: 50, newQty: 49, isExplained: true },
  ],
  [
    'contains the `old` of a new level',
    { level: undefined },
    next,
    { oldQty: 50, newQty: 49, isExplained: false },
  ],
  ['stays if a new level starts with `old` = `new`', { level: undefined }, change({ old: 5, new: 5 }), null],
  ['stays if the quantity stays', {}, change({ old: 6, new: 5, updateTimeMs: AT }), null],
  ['stays unknown', { variant: variant({ availableQty: null }) }, next, null],
  ['stays if the change is not applied', {}, late, null],
])('the total %s', (_, known, delivered, total) => {
  const verdict = judge(known, delivered);
  expect(verdict.total).toEqual(total);
  const before = known.variant ?? variant();
  expect(verdict.variant).toMatchObject({
    availableQty: verdict.total?.newQty ?? before.availableQty,
    asOfMs: total === null ? before.asOfMs : delivered.updateTimeMs,
  });
});

test.each<[when: string, state: Partial<MirrorStateRow>, latenessMs: number]>([
  ['by the promptest delivery of the hour', { offsetFloorMs: 5_000, offsetWindowStartMs: AT }, 3_000],
  ['before any stamp that is not ahead', sameClocks, 1_500],
])('learns how late a change out of order is %s', (_, state, latenessMs) => {
  const level = stockLevel({ eventTimeMs: AT + 4_000 });
  expect(judge({ state, level }, change({ old: 7, new: 6, updateTimeMs: AT + 2_000 })).latenessMs).toBe(
    latenessMs,
  );
});

test('learns from a stamp that is ahead only once the Date counts no more', () => {
  const state = { ...sameClocks, dateContradictions: DATE_CONTRADICTIONS - 1 };
  expect(judge({ state }, stampedAhead).offset.offsetFloorMs).toBe(null);
  const dropped = { ...sameClocks, dateContradictions: DATE_CONTRADICTIONS };
  expect(judge({ state: dropped }, stampedAhead).offset.offsetFloorMs).toBe(1_001);
});

test('weighs the Date only by a change that, by this Date, the last read saw', () => {
  const state = { dateContradictions: 1, offsetFloorMs: 0, offsetWindowStartMs: AT };
  const readAtMs = AT - 5_000;
  const seen = judge({ state, level: stockLevel({ readAtMs, readLoMs: AT + 1 }) }, next);
  expect([seen.branch, seen.dateContradictions]).toEqual(['4a seen by the read', 2]);
  // All of the last hours may have been as late.
  const alone = judge(
    { state: { dateContradictions: 1 }, level: stockLevel({ readAtMs, readLoMs: AT + 1 }) },
    next,
  );
  expect([alone.branch, alone.dateContradictions]).toEqual(['4a seen by the read', 1]);
  const follows = judge({ state, level: stockLevel({ readAtMs, readLoMs: AT }) }, next);
  expect([follows.branch, follows.dateContradictions]).toEqual(['4c follows', 1]);
});
