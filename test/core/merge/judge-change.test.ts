/** One row for each reason to read, and for each thing that a change moves (docs/architecture.md#changes). */
import { expect, test } from 'vitest';
import type { StockChange } from '../../../src/core/input.ts';
import { EARLIEST_MS, GAPS_OF_A_LEVEL, MOVED_LOOKUP_MS } from '../../../src/core/limits.ts';
import { asksForRead, judgeChange, type Doubt } from '../../../src/core/merge/judge-change.ts';
import { unmappedVariant } from '../../../src/core/merge/unknown.ts';
import type { Gap, StockLevel, Variant } from '../../../src/core/model.ts';
import { change, PRODUCT, stockLevel, T0, VARIANT, WAREHOUSE } from '../builders.ts';
import { MemoryTables } from '../memory-tables.ts';

const AT = T0 + 60_000;
const INBOX_SEQ = 7;

const variant = (over: Partial<Variant> = {}): Variant => ({
  ...unmappedVariant(VARIANT, 'S-100'),
  productId: PRODUCT,
  availableQty: 50,
  ...over,
});

const gap = (over: Partial<Gap> = {}): Gap => ({
  variantId: VARIANT,
  warehouseId: WAREHOUSE,
  inboxSeq: 3,
  openedAtMs: T0,
  dueAtMs: T0 + 3_000,
  fromQty: 5,
  toQty: 8,
  ...over,
});

interface Known {
  readonly level?: StockLevel | undefined;
  readonly variant?: Variant;
  readonly gaps?: readonly Gap[];
}

function judge(known: Known, delivered: StockChange) {
  const level = 'level' in known ? known.level : stockLevel();
  return judgeChange(
    {
      state: new MemoryTables().state(),
      level,
      variant: known.variant ?? variant(),
      gaps: () => known.gaps ?? [],
      levels: () => (level === undefined ? [] : [level]),
    },
    delivered,
    { inboxSeq: INBOX_SEQ, atMs: AT },
  );
}

const next = change({ old: 5, new: 4, updateTimeMs: AT });
const broken = change({ old: 6, new: 4, updateTimeMs: AT });
const late = change({ old: 5, new: 8, updateTimeMs: T0 - 1 });

test.each<[rule: string, known: Known, delivered: StockChange, doubts: readonly Doubt[]]>([
  ['a change that follows', {}, next, []],
  ['a new level', { level: undefined }, next, ['order unknown']],
  [
    'a change that the last read may have seen',
    { level: stockLevel({ readHiMs: AT }) },
    next,
    ['perhaps seen'],
  ],
  [
    'a change that a total without levels may contain',
    { variant: variant({ totalHiMs: AT }) },
    next,
    ['perhaps in the total'],
  ],
  [
    'a broken chain of a level that lacks a part of its total',
    { level: stockLevel({ unexplainedAtMs: T0 }) },
    broken,
    ['level open'],
  ],
  [
    'a repeated change of a level that lacks a part of its total',
    { level: stockLevel({ unexplainedAtMs: T0 }) },
    change({ old: 4, new: 5 }),
    ['level open'],
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
])('%s: reads for %j', (_, known, delivered, doubts) => {
  const verdict = judge(known, delivered);
  expect(verdict.doubts).toEqual(doubts);
  expect(asksForRead(verdict, known.variant ?? variant())).toBe(doubts.length > 0);
});

test.each<[rule: string, gaps: readonly Gap[], delivered: StockChange, verdict: object]>([
  ['follows', [], next, { kind: 'none' }],
  [
    'breaks the chain',
    [],
    broken,
    {
      kind: 'opened',
      gap: { fromQty: 5, toQty: 6, inboxSeq: INBOX_SEQ, openedAtMs: AT, dueAtMs: AT + 3_000 },
    },
  ],
  ['fits both ends of a gap', [gap({ toQty: 9 }), gap()], late, { kind: 'closed', gap: gap() }],
  ['fits the start of a gap', [gap({ toQty: 9 })], late, { kind: 'narrowed', gap: { fromQty: 8, toQty: 9 } }],
  ['fits the end of a gap', [gap({ fromQty: 1 })], late, { kind: 'narrowed', gap: { fromQty: 1, toQty: 5 } }],
])('a change that %s: gap', (_, gaps, delivered, verdict) => {
  expect(judge({ gaps }, delivered).gap).toMatchObject(verdict);
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
  [
    'contains the loss that a read showed in it alone',
    { level: stockLevel({ unexplainedAtMs: T0 }) },
    broken,
    { oldQty: 50, newQty: 48, isExplained: false },
  ],
  ['stays if the quantity stays', {}, change({ old: 6, new: 5, updateTimeMs: AT }), null],
  ['stays unknown', { variant: variant({ availableQty: null }) }, next, null],
  ['stays if the change is not applied', {}, late, null],
])('the total %s', (_, known, delivered, total) => {
  const verdict = judge(known, delivered);
  expect(verdict.total).toEqual(total);
  const before = known.variant ?? variant();
  expect(verdict.variant.availableQty).toBe(verdict.total?.newQty ?? before.availableQty);
});

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
  [
    'removed, after a newer change',
    { variant: variant({ goneAtMs: T0 }), level: gone },
    next,
    AT + MOVED_LOOKUP_MS,
  ],
  [
    'removed, after a change in the window of the read',
    { variant: variant({ goneAtMs: T0 }), level: gone },
    change({ old: 5, new: 4, updateTimeMs: T0 + 2_000 }),
    null,
  ],
])('a variant %s is searched for at %s', (_, known, delivered, lookupAtMs) => {
  expect(judge(known, delivered).variant).toMatchObject({ lookupAtMs, eventAtMs: AT });
});

test('does not read the old product of a removed variant that is being searched for', () => {
  const known = variant({ goneAtMs: T0, lookupAtMs: T0 });
  const verdict = judge({ variant: known, level: gone }, next);
  expect([verdict.doubts, asksForRead(verdict, known)]).toEqual([['order unknown'], false]);
});

test.each([
  ['pulled', 'gone, shown again', 4],
  ['own', 'gone, uncertain', 5],
] as const)('a removed level of a variant of the kind %s: %s', (kind, branch, qty) => {
  const verdict = judge({ variant: variant({ kind }), level: gone }, next);
  expect(verdict).toMatchObject({ branch, level: { qty, onHandAsOfMs: null } });
});

test('leaves a level open if a total without levels hides the order of its changes', () => {
  const sameInstant = change({ old: 5, new: 4 });
  const known = { level: stockLevel({ readHiMs: T0 }), variant: variant({ totalHiMs: T0 }) };
  expect(judge(known, sameInstant).level.unexplainedAtMs).toBe(AT);
  expect(judge({ ...known, variant: variant() }, sameInstant).level.unexplainedAtMs).toBeNull();
});

test('learns the clocks only from stamps that are not ahead', () => {
  expect(judge({}, next).offset.offsetFloorMs).toBe(0);
  const ahead = change({ old: 5, new: 4, updateTimeMs: AT + 400_000 });
  expect(judge({}, ahead).offset.offsetFloorMs).toBeNull();
  expect(judge({}, ahead).level.eventTimeMs).toBe(T0);
  expect(judge({ level: undefined }, ahead).level.eventTimeMs).toBe(EARLIEST_MS);
});
