/** One row for each thing that an answer proves about a variant (docs/architecture.md#reads, #totals, #removals). */
import { describe, expect, test } from 'vitest';
import type { VariantSnapshot } from '../../../src/core/input.ts';
import { absentLevels } from '../../../src/core/merge/judge-absence.ts';
import { judgeTotal } from '../../../src/core/merge/judge-total.ts';
import { judgeVariant, type VariantRows, type ShownVariant } from '../../../src/core/merge/judge-variant.ts';
import type { ReadContext } from '../../../src/core/merge/merge-read.ts';
import { unmappedVariant, unreadProduct } from '../../../src/core/merge/unknown.ts';
import type { Product, Variant } from '../../../src/core/model.ts';
import { PRODUCT, readContext, stockLevel, T0, VARIANT, variantSnapshot } from '../builders.ts';

const SENT = readContext().sentAtMs;
const OTHER = '20';

const seen = (over: Partial<VariantSnapshot> = {}): VariantSnapshot => variantSnapshot({ 1: 5 }, over);
const product = (over: Partial<Product> = {}): Product => ({
  ...unreadProduct(PRODUCT),
  readAtMs: T0,
  ...over,
});

/** As `seen()` shows it, touched and verified long before the read. */
const variant = (over: Partial<Variant> = {}): Variant => ({
  ...unmappedVariant(VARIANT, 'S-100'),
  productId: PRODUCT,
  availableQty: 5,
  onHand: 5,
  reservedQty: 0,
  asOfMs: T0,
  eventAtMs: T0,
  verifiedAtMs: T0,
  ...over,
});

function judge(known: Partial<VariantRows>, shown = seen(), read: Partial<ReadContext> = {}) {
  return judgeVariant(
    {
      variant: variant(),
      levels: [stockLevel({ onHand: 5, reservedQty: 0, onHandAsOfMs: T0 })],
      product: product(),
      owner: undefined,
      atMs: SENT,
      lastDeliveryAtMs: T0,
      ...known,
    },
    shown,
    readContext(read),
  );
}

function shownBy(...args: Parameters<typeof judge>): ShownVariant {
  const verdict = judge(...args);
  if (verdict.kind !== 'shown') throw new Error(`the variant is ${verdict.kind}`);
  return verdict;
}

const late = { eventAtMs: SENT - 1_999 };
const newer = { superseded: true };

test.each<[when: string, known: Partial<VariantRows>, read: Partial<ReadContext>, kind: string]>([
  ['known', {}, {}, 'shown'],
  ['unknown', { variant: undefined, levels: [] }, {}, 'shown'],
  ['unknown, and a later answer is known', { variant: undefined, levels: [] }, newer, 'unproven'],
  ['removed long ago', { variant: variant({ goneAtMs: SENT - 2_000 }) }, {}, 'shown'],
  ['removed less than 2 s before, untouched', { variant: variant({ goneAtMs: SENT - 1_999 }) }, {}, 'shown'],
  [
    'removed and touched less than 2 s before',
    { variant: variant({ ...late, goneAtMs: SENT - 1_999 }) },
    {},
    'unproven',
  ],
  [
    'removed 2 s before and touched since',
    { variant: variant({ ...late, goneAtMs: SENT - 2_000 }) },
    {},
    'shown',
  ],
  ['removed, and a later answer is known', { variant: variant({ goneAtMs: T0 }) }, newer, 'unproven'],
])('a variant that is %s', (_, known, read, kind) => {
  expect(judge(known, seen(), read).kind).toBe(kind);
});

describe('a variant of another product', () => {
  const owner = (over: Partial<Product>): Product => ({ ...unreadProduct(OTHER), readAtMs: T0, ...over });
  const elsewhere = variant({ productId: OTHER });
  const far = { readUntilMs: SENT - 2_000 };
  const near = { readUntilMs: SENT - 1_999 };

  test.each<[when: string, known: Partial<VariantRows>, read: Partial<ReadContext>, expected: object]>([
    ['read earlier', { owner: owner(far) }, {}, { movedFrom: OTHER, overlapping: [] }],
    [
      'read at an overlapping time',
      { owner: owner(near) },
      {},
      { movedFrom: OTHER, overlapping: [PRODUCT, OTHER] },
    ],
    [
      'whose answer was sent at the same instant',
      { owner: owner({ readAtMs: SENT, readUntilMs: SENT }) },
      {},
      { movedFrom: OTHER, overlapping: [PRODUCT, OTHER] },
    ],
    [
      'whose overlapping answer was sent later',
      { owner: owner({ ...near, readAtMs: SENT + 1 }) },
      {},
      { kind: 'elsewhere', overlapping: [PRODUCT, OTHER] },
    ],
    [
      'whose answer was sent much later',
      { owner: owner({ ...near, readAtMs: SENT + 2_000 }) },
      {},
      { kind: 'elsewhere', overlapping: [] },
    ],
    [
      'that no longer shows it',
      { owner: owner({ ...near, readAtMs: SENT + 1 }), variant: { ...elsewhere, missingAtMs: T0 } },
      {},
      { movedFrom: OTHER, overlapping: [] },
    ],
    [
      'that no longer shows it in a later answer',
      { owner: owner({ ...near, readAtMs: SENT + 1 }), variant: { ...elsewhere, missingAtMs: SENT + 1 } },
      {},
      { kind: 'elsewhere', overlapping: [PRODUCT, OTHER] },
    ],
    [
      'that showed it until it was removed',
      { owner: owner({ ...near, readAtMs: SENT + 1 }), variant: { ...elsewhere, goneAtMs: T0 } },
      {},
      { movedFrom: OTHER, overlapping: [] },
    ],
    [
      'read earlier, by a superseded answer',
      { owner: owner(near) },
      newer,
      { movedFrom: null, overlapping: [] },
    ],
  ])('%s', (_, known, read, expected) => {
    expect(judge({ variant: elsewhere, ...known }, seen(), read)).toMatchObject(expected);
  });
});

test.each<
  [
    when: string,
    before: Partial<Variant>,
    shown: Partial<VariantSnapshot>,
    explainedQty: number,
    expected: object,
  ]
>([
  ['agrees', {}, {}, 0, { moved: null, isDoubted: false, variant: { asOfMs: T0 } }],
  [
    'is moved by its levels',
    {},
    { availableQty: 4 },
    -1,
    { moved: null, isDoubted: false, variant: { asOfMs: SENT } },
  ],
  ['is moved by more than its levels', {}, { availableQty: 3 }, -1, { moved: { oldQty: 5, newQty: 3 } }],
  ['is first shown', { availableQty: null, verifiedAtMs: null }, {}, 5, { moved: null }],
  [
    'is first shown, without levels',
    { availableQty: null, verifiedAtMs: null },
    { levels: null },
    0,
    { moved: { oldQty: null, newQty: 5 } },
  ],
  [
    'is first shown as 0, without levels',
    { availableQty: null, verifiedAtMs: null },
    { availableQty: 0, levels: null },
    0,
    { moved: { oldQty: null, newQty: 0 } },
  ],
  ['agrees, touched just before', late, {}, 0, { moved: null, isDoubted: false }],
  ['agrees without levels, touched just before', late, { levels: null }, 0, { isDoubted: true }],
  ['differs, touched just before', late, { availableQty: 4 }, 0, { moved: null, isDoubted: true }],
  ['returns with the variant', { goneAtMs: T0 }, {}, 5, { moved: null }],
])('a total that %s', (...[, before, shown, explainedQty, expected]) => {
  const known = variant(before);
  const verdict = judgeTotal(known, seen(shown), { explainedQty, beforeQty: 5 }, readContext());
  expect(verdict).toMatchObject(expected);
  const isKept = verdict.isDoubted && known.availableQty !== seen(shown).availableQty;
  expect(verdict.variant.availableQty).toBe(isKept ? known.availableQty : seen(shown).availableQty);
});

test('a total that differs only as its levels do is kept, and as certain as they are', () => {
  const shown = variantSnapshot({ 1: 4 });
  const verdict = judgeTotal(variant(late), shown, { explainedQty: 0, beforeQty: 5 }, readContext());
  expect(verdict).toMatchObject({ isDoubted: false, moved: null, variant: { availableQty: 5, asOfMs: T0 } });
});

test('a total moves with a level that the read saw, though another changed just before', () => {
  const shown = variantSnapshot({ 1: 2, 2: 3 });
  const before = variant({ ...late, verifiedAtMs: T0 });
  const verdict = judgeTotal(before, shown, { explainedQty: -1, beforeQty: 5 }, readContext());
  expect(verdict).toMatchObject({
    isDoubted: false,
    moved: null,
    variant: { availableQty: 4, asOfMs: SENT, verifiedAtMs: T0 },
  });
});

const listed = { onHandAsOfMs: T0 };

test.each<[when: string, shown: VariantSnapshot, known: ReturnType<typeof stockLevel>, isAbsent: boolean]>([
  ['is listed', variantSnapshot({ 1: 5 }), stockLevel(), false],
  ['is not listed', variantSnapshot({ 2: 5 }), stockLevel(), true],
  ['is not listed, and removed', variantSnapshot({ 2: 5 }), stockLevel({ goneAtMs: T0 }), false],
  ['cannot be listed', variantSnapshot(null), stockLevel(listed), false],
  ['was listed before a change of kind', variantSnapshot(null, { kind: 'bundle' }), stockLevel(listed), true],
  ['was listed before a change of kind', variantSnapshot(null, { kind: 'pulled' }), stockLevel(listed), true],
  ['was only named by a webhook', variantSnapshot(null, { kind: 'pulled' }), stockLevel(), false],
  ['was listed, of assembled goods', variantSnapshot(null, { kind: 'assembled' }), stockLevel(listed), false],
])('a level that %s', (_, shown, known, isAbsent) => {
  expect(absentLevels([known], shown)).toEqual(isAbsent ? [known] : []);
});

describe('what an answer changes', () => {
  test.each<
    [what: string, known: Partial<VariantRows>, shown: VariantSnapshot, expected: Partial<ShownVariant>]
  >([
    ['nothing', {}, seen(), { isRedescribed: false, isChanged: false, differs: false, movesBundles: false }],
    ['the name', {}, seen({ name: 'New' }), { isRedescribed: true, isChanged: true, differs: true }],
    ['the SKU', {}, seen({ sku: 'NEW' }), { isRedescribed: true, isChanged: true, differs: true }],
    ['the kind', {}, seen({ kind: 'assembled' }), { isRedescribed: true, isChanged: true, differs: true }],
    [
      'whether it may be oversold',
      {},
      seen({ allowNegativeStock: true }),
      { isRedescribed: true, isChanged: true },
    ],
    ['whether it lists warehouses', {}, seen({ levels: null }), { isRedescribed: true, isChanged: true }],
    ['the price', {}, seen({ priceJson: '1' }), { isRedescribed: false, isChanged: true, differs: true }],
    ['the cost', {}, seen({ cost: '1' }), { isRedescribed: false, isChanged: true, differs: true }],
    ['the code', {}, seen({ upc: '1' }), { isRedescribed: false, isChanged: true, differs: true }],
    [
      'quantities on hand',
      {},
      seen({ onHand: 9 }),
      { isRedescribed: false, isChanged: true, differs: false },
    ],
    [
      'reserved quantities',
      {},
      seen({ reservedQty: 9 }),
      { isRedescribed: false, isChanged: true, differs: false },
    ],
    ['a level', {}, variantSnapshot({ 1: 4 }), { isChanged: true, differs: true, movesBundles: true }],
    ['its presence', { variant: variant({ missingAtMs: T0 }) }, seen(), { isChanged: false, differs: true }],
    [
      'the presence of a level',
      { levels: [stockLevel({ missingAtMs: T0 })] },
      seen(),
      { isChanged: false, differs: true, movesBundles: false },
    ],
    [
      'its product',
      { variant: variant({ productId: OTHER }), owner: { ...product(), productId: OTHER } },
      seen(),
      { movedFrom: OTHER, isRedescribed: true, isChanged: true, differs: true },
    ],
    [
      'a total without warehouses',
      { variant: variant({ totalHiMs: T0 }) },
      variantSnapshot(null, { availableQty: 4 }),
      { isRedescribed: false, isChanged: true, differs: true, movesBundles: true },
    ],
    ['its number of bundles', {}, seen({ bundledByCount: 1 }), { isChanged: false, movesBundles: true }],
    [
      'perhaps a level, which a change may have moved since',
      { variant: variant({ eventAtMs: SENT }), levels: [stockLevel({ eventAtMs: SENT })] },
      variantSnapshot({ 1: 4 }),
      { movesBundles: true },
    ],
    [
      'perhaps its total',
      { variant: variant({ eventAtMs: SENT, totalHiMs: T0 }), levels: [] },
      variantSnapshot(null, { availableQty: 4 }),
      { movesBundles: true },
    ],
    [
      'two of three levels, in opposite directions',
      {
        levels: [
          stockLevel(),
          stockLevel({ warehouseId: '2', qty: 0 }),
          stockLevel({ warehouseId: '3', qty: 0 }),
        ],
      },
      variantSnapshot({ 1: 4, 2: 1, 3: 0 }),
      { isRedescribed: false, isChanged: false, differs: true, movesBundles: true },
    ],
    [
      'all, as its first read',
      { variant: undefined, levels: [], product: unreadProduct(PRODUCT) },
      seen(),
      { movesBundles: false },
    ],
    ['all, in a product read before', { variant: undefined, levels: [] }, seen(), { movesBundles: true }],
  ])('%s', (_, known, shown, expected) => {
    expect(shownBy(known, shown)).toMatchObject(expected);
  });
});

test.each([
  ['new', undefined, SENT - 1_999, true],
  ['new, 2 s after the last delivery', undefined, SENT - 2_000, false],
  ['new, before any delivery', undefined, null, false],
  ['that was something else', variant({ kind: 'own' }), SENT - 1_999, true],
  ['known', variant({ kind: 'bundle' }), SENT - 1_999, false],
])('a bundle %s may lack a change of a component', (_, known, lastDeliveryAtMs, expected) => {
  const shown = variantSnapshot(null, { kind: 'bundle', availableQty: 5 });
  const { newBundle } = shownBy({ variant: known, levels: [], lastDeliveryAtMs }, shown);
  expect(newBundle?.isOvertaken ?? false).toBe(expected);
});

test.each([
  ['removed with it', { goneAtMs: T0 + 5 }, 'own', true],
  ['removed before it', { goneAtMs: T0 + 4 }, 'own', false],
  ['that were listed before it became a bundle', { goneAtMs: T0 + 5, onHandAsOfMs: T0 }, 'bundle', false],
  ['that only webhooks named', { goneAtMs: T0 + 5 }, 'pulled', true],
] as const)(
  'a variant that returns without warehouses brings levels %s back: %s',
  (_, level, kind, isRestored) => {
    const before = variant({ goneAtMs: T0 + 5 });
    const levels = [stockLevel(level)];
    const shown = variantSnapshot(null, { kind, availableQty: 5 });
    const verdict = shownBy({ variant: before, levels }, shown);
    expect(verdict.restored).toEqual(isRestored ? levels : []);
    expect(shownBy({ variant: before, levels }, seen()).restored).toEqual([]);
    expect(shownBy({ levels }, shown).restored).toEqual([]);
  },
);
