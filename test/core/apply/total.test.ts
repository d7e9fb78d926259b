import { describe, expect, test } from 'vitest';
import type { ProductSnapshot, VariantSnapshot } from '../../../src/core/input.ts';
import { unreadProduct } from '../../../src/core/merge/unknown.ts';
import {
  change,
  Mirror,
  mirrorAfterRead,
  missedAt,
  PRODUCT,
  productSnapshot,
  T0,
  variantSnapshot,
} from '../builders.ts';

const S = 1_000;
const AT = T0 + 60 * S;

const of = (over: Partial<VariantSnapshot>, levels: Record<string, number> | null = { 1: 5, 2: 6 }) =>
  productSnapshot([variantSnapshot(levels, over)]);

describe('a total', () => {
  test('of which a stock level was not known already held what was there before', () => {
    const mirror = mirrorAfterRead(of({ availableQty: 11 }, { 1: 5 }));
    mirror.deliver(AT, change({ warehouseId: '2', old: 6, new: 4, updateTimeMs: AT }));
    expect([mirror.total(), mirror.reason()]).toEqual([9, 'conflict']);
    expect(mirror.rows('100', null).at(-1)).toMatchObject({ oldQty: 11, newQty: 9 });
    mirror.deliver(AT, change({ warehouseId: '3', old: 0, new: 2, updateTimeMs: AT }));
    mirror.deliver(AT, change({ warehouseId: '4', old: 3, new: 3, updateTimeMs: AT }));
    expect(mirror.total()).toBe(11);
    expect(mirror.rows('100', null).at(-1)).toMatchObject({ newQty: 9 });
  });

  test.each<[string, updateTimeMs: number]>([
    ['before the read, so that the total lacks it', AT - 10 * S],
    ['after the read', AT + 10 * S],
  ])('is read again after a change of a stock level that a read left out, made %s', (_, updateTimeMs) => {
    const mirror = mirrorAfterRead(of({}));
    mirror.read(of({ availableQty: 5 }, { 1: 5 }), { sentAtMs: AT });
    expect([mirror.total(), mirror.reason()]).toEqual([5, 'confirm_removal']);
    mirror.deliver(AT + 10 * S, change({ warehouseId: '2', old: 6, new: 0, updateTimeMs }));
    expect(mirror.tables.readRequest(PRODUCT)?.isSuspect).toBe(true);
    mirror.read(of({ availableQty: 5 }, { 1: 5 }), { sentAtMs: AT + 20 * S });
    expect(mirror.total()).toBe(5);
  });
});

test('a total that stays gets no row, though a read moves one of its levels', () => {
  const mirror = mirrorAfterRead(of({ availableQty: 20 }));
  mirror.read(of({ availableQty: 20 }, { 1: 4, 2: 6 }), { sentAtMs: AT });
  expect([mirror.qty(), mirror.total()]).toEqual([4, 20]);
  expect(mirror.rows('100', null)).toMatchObject([{ reason: 'first_read' }]);
});

/** Read a second after a change of 5→4, and so perhaps without it. */
const READ = AT + S;

test.each<[what: string, before: Mirror, snapshot: ProductSnapshot, verifiedAtMs: number | null]>([
  ['verifies no total that was unknown', new Mirror(), of({}), null],
  ['verifies a total that agrees, as its levels do', mirrorAfterRead(of({})), of({}, { 1: 4, 2: 6 }), READ],
  [
    'verifies a total without warehouses that agrees',
    mirrorAfterRead(of({ availableQty: 9 }, null)),
    of({ availableQty: 8 }, null),
    READ,
  ],
  [
    'verifies no total that differs',
    mirrorAfterRead(of({ availableQty: 9 }, null)),
    of({ availableQty: 7 }, null),
    T0,
  ],
])('a read right after a change %s', (_, mirror, snapshot, verifiedAtMs) => {
  mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
  mirror.read(snapshot, { sentAtMs: READ });
  expect(mirror.tables.variant('100')).toMatchObject({ verifiedAtMs });
});

describe('derived totals', () => {
  test.each([
    ['pulled', 'derived'],
    ['bundle', 'derived'],
    ['assembled', null],
  ] as const)('a change of a %s variant requests: %s', (kind, reason) => {
    const mirror = mirrorAfterRead(of({ kind }));
    mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
    expect(mirror.reason()).toBe(reason);
  });

  test('a change that is not applied to a pulled variant asks for nothing', () => {
    const mirror = mirrorAfterRead(of({ kind: 'pulled', availableQty: 9 }, null));
    mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
    mirror.read(of({ kind: 'pulled', availableQty: 8 }, null), { sentAtMs: AT + 10 * S });
    expect(mirror.reason()).toBeNull();
    mirror.deliver(AT + 11 * S, change({ old: 5, new: 4, updateTimeMs: AT }));
    expect([mirror.total(), mirror.reason()]).toEqual([8, null]);
  });

  test('a pulled variant that moves while its product is unknown is searched for alone', () => {
    const mirror = mirrorAfterRead(of({ kind: 'pulled', availableQty: 9 }, null));
    mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
    mirror.remove(AT + 10 * S);
    expect(mirror.tables.variant('100')).toMatchObject({ productId: null, lookupAtMs: AT + 40 * S });
    mirror.deliver(AT + 60 * S, change({ old: 4, new: 3, updateTimeMs: AT + 60 * S }));
    expect([mirror.total(), mirror.tables.readRequests.size]).toEqual([7, 0]);
  });

  /** Product 10 is a component, product 20 a bundle of it. */
  function withBundle(): Mirror {
    const mirror = mirrorAfterRead(of({ bundledByCount: 1 }));
    mirror.read(productSnapshot([variantSnapshot(null, { variantId: '200', kind: 'bundle' })]), {
      sentAtMs: T0,
      productId: '20',
    });
    return mirror;
  }

  test('a changed component makes bundles due once', () => {
    const mirror = withBundle();
    mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
    mirror.deliver(AT + 9 * S, change({ old: 4, new: 3, updateTimeMs: AT + 9 * S }));
    expect(mirror.tables.state().bundlesDueAtMs).toBe(AT + 15 * S);
    mirror.applyInput({ kind: 'bundles_due', atMs: AT + 15 * S });
    expect(mirror.tables.state().bundlesDueAtMs).toBeNull();
    expect([mirror.reason('10'), mirror.reason('20')]).toEqual([null, 'bundle']);
    const facts = mirror.read(
      productSnapshot([variantSnapshot(null, { variantId: '200', kind: 'bundle', availableQty: 3 })]),
      { sentAtMs: AT + 17 * S, productId: '20' },
    );
    expect(facts).toContainEqual(expect.objectContaining({ kind: 'drift', reason: 'derived' }));
    expect([mirror.total('200'), mirror.reason('20')]).toEqual([3, null]);
  });

  test.each([
    [150, 15 * S],
    [200, 20 * S],
    [6_000, 600 * S],
    [7_000, 600 * S],
  ])('%d products with bundles are read %d ms after a change of a component', (count, delayMs) => {
    const mirror = mirrorAfterRead(of({ bundledByCount: 1 }));
    for (let i = 0; i < count; i += 1) {
      mirror.tables.putProduct({ ...unreadProduct(`p${i}`), hasBundle: true });
    }
    mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
    expect(mirror.tables.state().bundlesDueAtMs).toBe(AT + delayMs);
  });

  test.each<[what: string, doubt: (mirror: Mirror, variantId: string) => unknown]>([
    [
      'was not stored',
      (mirror, id) => mirror.applyInput({ ...missedAt(AT), why: 'not_stored', variantIds: [id] }),
    ],
    ['was not understood', (mirror, id) => mirror.failToUnderstand(AT, [id])],
  ])('bundles are due when a change that %s names a component, or an unknown variant', (_, doubt) => {
    for (const variantId of ['100', '999']) {
      const mirror = withBundle();
      doubt(mirror, variantId);
      expect(mirror.tables.state().bundlesDueAtMs).toBe(AT + 15 * S);
      mirror.applyInput({ kind: 'bundles_due', atMs: AT + 15 * S });
      expect(mirror.reason('20')).toBe('bundle');
    }
  });

  test('a product is read with the bundles if any of its variants is one', () => {
    const mirror = mirrorAfterRead(of({ bundledByCount: 1 }));
    const variants = [variantSnapshot({ 1: 5 }, { variantId: '201' }), ...bundle(3).variants];
    mirror.read(productSnapshot(variants), { sentAtMs: T0, productId: '20' });
    mirror.applyInput({ kind: 'bundles_due', atMs: AT });
    expect(mirror.reason('20')).toBe('bundle');
  });

  test('no bundle is due when a read of a component is requested without doubt', () => {
    const mirror = withBundle();
    mirror.requestReads(AT, 'operator', [], ['100']);
    expect([mirror.reason('10'), mirror.tables.state().bundlesDueAtMs]).toEqual(['operator', null]);
  });

  test('no bundle is due when the change names a variant that none contains', () => {
    const mirror = withBundle();
    mirror.failToUnderstand(AT, ['200']);
    expect(mirror.tables.state().bundlesDueAtMs).toBeNull();
  });

  test.each([
    ['its product', null],
    ['the variant', productSnapshot([])],
  ])('bundles are due when a read no longer shows %s', (_, snapshot) => {
    const mirror = withBundle();
    mirror.read(snapshot, { sentAtMs: AT });
    expect(mirror.tables.state().bundlesDueAtMs).toBe(AT + 15 * S);
    mirror.applyInput({ kind: 'bundles_due', atMs: AT + 15 * S });
    mirror.read(of({ bundledByCount: 1 }), { sentAtMs: AT + 20 * S });
    expect(mirror.tables.state().bundlesDueAtMs).toBe(AT + 35 * S);
  });

  const component = (levels: Record<string, number>) =>
    productSnapshot([variantSnapshot(levels, { bundledByCount: 1 })]);
  const bundle = (availableQty: number) =>
    productSnapshot([variantSnapshot(null, { variantId: '200', kind: 'bundle', availableQty })]);

  test.each<
    [what: string, made: Partial<VariantSnapshot>, before: ProductSnapshot | null, isPerhapsIn: boolean]
  >([
    ['made after it', { createTimeMs: T0 + 50 * S }, null, true],
    ['made before it', { createTimeMs: T0 - 50 * S }, null, false],
    ['whose age the store does not tell', { createTimeMs: null }, null, true],
    [
      'that was something else',
      { createTimeMs: 0 },
      productSnapshot([variantSnapshot({ 1: 2 }, { variantId: '200' })]),
      true,
    ],
  ])('a component read before a bundle %s', (_, made, before, isPerhapsIn) => {
    const mirror = mirrorAfterRead(of({ bundledByCount: 0 }));
    const seen = { kind: 'bundle', variantId: '200', availableQty: 5, ...made } as const;
    if (before !== null) mirror.read(before, { sentAtMs: T0, productId: '20' });
    mirror.read(productSnapshot([variantSnapshot(null, seen)]), { sentAtMs: AT, productId: '20' });
    mirror.deliver(AT + 60 * S, change({ old: 5, new: 4, updateTimeMs: AT + 60 * S }));
    expect([mirror.reason('10'), mirror.tables.state().bundlesDueAtMs]).toEqual(
      isPerhapsIn ? ['component', AT + 75 * S] : [null, null],
    );
    if (!isPerhapsIn) return;
    // Its read tells.
    mirror.applyInput({ kind: 'bundles_due', atMs: AT + 75 * S });
    mirror.read(of({ bundledByCount: 0 }), { sentAtMs: AT + 80 * S });
    const later = change({ old: mirror.qty('100', '1') ?? 0, new: 3, updateTimeMs: AT + 90 * S });
    mirror.deliver(AT + 90 * S, later);
    expect([mirror.reason('10'), mirror.tables.state().bundlesDueAtMs]).toEqual([null, null]);
  });

  const delivered = (mirror: Mirror) => mirror.deliver(AT, change({ old: 5, new: 4, updateTimeMs: AT }));
  const notStored = (mirror: Mirror) =>
    mirror.applyInput({ ...missedAt(AT), why: 'not_stored', variantIds: ['100'] });

  test.each<[when: string, arrive: (mirror: Mirror) => unknown, sentAtMs: number, dueAtMs: number | null]>([
    ['less than 2 s after a delivery', delivered, AT + 2 * S - 1, AT + 60 * S + 15 * S],
    ['less than 2 s after one that was not stored', notStored, AT + 2 * S - 1, AT + 60 * S + 15 * S],
    ['2 s after it', delivered, AT + 2 * S, null],
  ])('a first read of a bundle sent %s', (_, arrive, sentAtMs, dueAtMs) => {
    const mirror = new Mirror();
    mirror.read(component({ 1: 5 }), { sentAtMs: T0 });
    arrive(mirror);
    mirror.applyInput({ kind: 'bundles_due', atMs: AT + 15 * S });
    mirror.read(bundle(5), { sentAtMs, receivedAtMs: AT + 60 * S, productId: '20' });
    expect(mirror.tables.state().bundlesDueAtMs).toBe(dueAtMs);
  });
});
