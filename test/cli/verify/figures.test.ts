/** When two sides differ, and when that counts. */
import { describe, expect, test } from 'vitest';
import {
  compare,
  judge,
  levelKey,
  type Difference,
  type Held,
  type MirrorProduct,
} from '../../../src/cli/verify/figures.ts';
import { productDetailSchema } from '../../../src/store-api/contract/schemas.ts';
import { snapshotOf } from '../../../src/store-api/snapshot.ts';
import { detail, type VariantDetail } from '../../mirror/mirror-file.ts';

const told = (...variants: VariantDetail[]) =>
  snapshotOf(productDetailSchema.parse(detail('10', variants)), '');

function held(qty: number, changeSeq = 1, more: Partial<Held> = {}): Held {
  return {
    qty,
    changeSeq,
    suspect: false,
    asOfMs: 1,
    verifiedAtMs: null,
    sku: null,
    isSettling: false,
    ...more,
  };
}

/** A product with one variant, 100, in one warehouse, 1. */
function holding(level: Held, total: Held = level): MirrorProduct {
  return { totals: new Map([['100', total]]), levels: new Map([[levelKey('100', '1'), level]]) };
}

const differing = (...args: Parameters<typeof compare>) =>
  compare(...args).differences.map(({ what, held: row, service, onlyIn, isStill }) => ({
    what,
    mirror: row?.qty ?? null,
    service,
    onlyIn,
    isStill,
  }));

describe('compare', () => {
  test('counts what is equal', () => {
    const mirror = holding(held(5));
    expect(compare(mirror, told({ id: '100', levels: { 1: 5 } }), mirror)).toEqual({
      totals: 1,
      levels: 1,
      differences: [],
    });
  });

  test('a difference around which the mirror stood still', () => {
    const mirror = holding(held(5));
    expect(differing(mirror, told({ id: '100', levels: { 1: 4 } }), mirror)).toEqual([
      { what: 'total', mirror: 5, service: 4, onlyIn: null, isStill: true },
      { what: 'level', mirror: 5, service: 4, onlyIn: null, isStill: true },
    ]);
  });

  test('the mirror may have moved before or after the service answered', () => {
    const answer = told({ id: '100', levels: { 1: 4 } });
    expect(differing(holding(held(5)), answer, holding(held(4, 2)))).toEqual([]);
    expect(differing(holding(held(4)), answer, holding(held(3, 2)))).toEqual([]);
    expect(differing(holding(held(6)), answer, holding(held(5, 2)))).toMatchObject([
      { what: 'total', isStill: false },
      { what: 'level', isStill: false },
    ]);
    // There and back again: equal figures, and yet it moved.
    expect(differing(holding(held(5)), answer, holding(held(5, 3)))).toMatchObject([
      { isStill: false },
      { isStill: false },
    ]);
  });

  test('variants and warehouses that one side does not have', () => {
    const mirror = holding(held(5));
    const answer = told({ id: '100', levels: { 2: 5 } }, { id: '101', levels: { 1: 3 } });
    expect(differing(mirror, answer, mirror)).toEqual([
      { what: 'total', mirror: null, service: 3, onlyIn: 'service', isStill: true },
      { what: 'level', mirror: null, service: 5, onlyIn: 'service', isStill: true },
      { what: 'level', mirror: 5, service: null, onlyIn: 'mirror', isStill: true },
    ]);
    expect(differing(mirror, told({ id: '102', levels: { 1: 0 } }), mirror)).toMatchObject([
      { what: 'total', onlyIn: 'service' },
      { what: 'total', onlyIn: 'mirror' },
    ]);
  });

  test('a product that one side does not have', () => {
    const mirror = holding(held(5));
    const answer = told({ id: '100', levels: { 1: 5 } });
    expect(differing(mirror, null, mirror)).toMatchObject([
      { what: 'product', onlyIn: 'mirror', isStill: true },
    ]);
    expect(differing(null, answer, null)).toMatchObject([
      { what: 'product', onlyIn: 'service', isStill: true },
    ]);
    expect(differing(mirror, answer, null)).toMatchObject([{ what: 'product', isStill: false }]);
    expect(differing(mirror, null, null)).toEqual([]);
    expect(differing(null, null, null)).toEqual([]);
  });
});

describe('judge', () => {
  const seen = (over: Partial<Difference> = {}): Difference => ({
    what: 'level',
    variantId: '100',
    warehouseId: '1',
    held: held(5),
    service: 4,
    onlyIn: null,
    isStill: true,
    ...over,
  });
  const twice = (first: Difference, second: Difference) =>
    judge([second], judge([first], new Map()).unconfirmed);

  test('one look is no proof, two equal ones are', () => {
    expect(judge([seen()], new Map())).toMatchObject({ drift: [], open: [{ service: 4 }] });
    expect(twice(seen(), seen())).toMatchObject({ drift: [{ service: 4 }], open: [] });
  });

  test.each<[what: string, first: Partial<Difference>, second: Partial<Difference>]>([
    ['the service moved', {}, { service: 3 }],
    ['the mirror moved', {}, { held: held(6, 2) }],
    ['the mirror moved to and fro', {}, { held: held(5, 3) }],
    ['the mirror moved during the first look', { isStill: false }, {}],
    ['the mirror moved during the second look', {}, { isStill: false }],
    ['the row came', { held: null, onlyIn: 'service' }, {}],
    ['another figure', { warehouseId: '2' }, {}],
  ])('%s: it stays open', (_, first, second) => {
    expect(twice(seen(first), seen(second))).toMatchObject({ drift: [], open: [{}] });
  });
});
