/** A product's detail as input of the merge rules. */
import { expect, test } from 'vitest';
import { productDetailSchema } from '../../src/store-api/contract/schemas.ts';
import { snapshotOf } from '../../src/store-api/snapshot.ts';

const PLAIN = { product_variant_id: '100', name: '', available_qty: 3, weight: 1 };

function snapshot(product: Record<string, unknown>, ...variants: Record<string, unknown>[]) {
  const detail = {
    id: '10',
    name: 'Tea',
    store_id: '1',
    ...product,
    variants: variants.length === 0 ? [PLAIN] : variants,
  };
  return snapshotOf(productDetailSchema.parse(detail), JSON.stringify(detail));
}

test('reads a product with only the required fields', () => {
  expect(snapshot({})).toEqual({
    storeId: '1',
    name: 'Tea',
    parentId: null,
    updateTimeMs: null,
    detailJson: expect.stringContaining('"weight":1'),
    variants: [
      {
        variantId: '100',
        name: '',
        sku: null,
        upc: null,
        kind: 'own',
        createTimeMs: null,
        availableQty: 3,
        onHand: null,
        reservedQty: null,
        allowNegativeStock: false,
        priceJson: null,
        cost: null,
        bundledByCount: 0,
        levels: null,
      },
    ],
  });
});

test('reads a variant with every field', () => {
  const { variants, updateTimeMs } = snapshot(
    { update_time: 1_790_000_000_000 },
    {
      ...PLAIN,
      sku: 'S',
      upc: '885',
      create_time: 1_780_000_000_000,
      on_hand: 5,
      reserved_qty: 2,
      allow_negative_stock: true,
      cost: '9.50',
      bundled_by_count: 2,
      prices: [{ id: '1', price_tier_id: '2', price: '10', later: true }],
      warehouses: [{ wh_id: '7', on_hand: 5, available_qty: 3, reserved_qty: 2, later: 1 }],
    },
  );
  expect(updateTimeMs).toBe(1_790_000_000_000);
  expect(variants[0]).toMatchObject({
    sku: 'S',
    upc: '885',
    createTimeMs: 1_780_000_000_000,
    onHand: 5,
    reservedQty: 2,
    allowNegativeStock: true,
    cost: '9.50',
    bundledByCount: 2,
    levels: [{ warehouseId: '7', onHand: 5, availableQty: 3, reservedQty: 2 }],
  });
  expect(JSON.parse(variants[0]?.priceJson ?? '')).toEqual([
    { id: '1', price_tier_id: '2', price: '10', later: true },
  ]);
});

test.each([
  ['null', null],
  ['absent', undefined],
])('reads %s warehouses as unknown, not as none', (_name, warehouses) => {
  expect(snapshot({}, { ...PLAIN, warehouses }).variants[0]?.levels).toBe(null);
});

test('replaces lone surrogates', () => {
  const found = snapshot({ name: 'a\ud800' }, { ...PLAIN, name: '\udc00b', sku: '\ud800', upc: '\ud800' });
  expect(found.name).toBe('a�');
  expect(found.variants[0]).toMatchObject({ name: '�b', sku: '�', upc: '�' });
  expect(Buffer.from(found.detailJson).toString()).toBe(found.detailJson);
});

const warehouse = (id: string, qty: number) => ({
  wh_id: id,
  available_qty: qty,
  on_hand: qty,
  reserved_qty: 0,
});

test('merges a warehouse or variant that is listed twice, unless the quantities differ', () => {
  const warehouses = [warehouse('1', 5), warehouse('2', 6), warehouse('1', 5)];
  expect(snapshot({}, { ...PLAIN, warehouses }).variants[0]?.levels).toMatchObject([
    { warehouseId: '1', availableQty: 5 },
    { warehouseId: '2', availableQty: 6 },
  ]);
  expect(() => snapshot({}, { ...PLAIN, warehouses: [...warehouses, warehouse('2', 7)] })).toThrow(
    'lists 2 twice, with the quantities 6 and 7',
  );
  expect(snapshot({}, PLAIN, PLAIN).variants).toHaveLength(1);
  expect(() => snapshot({}, PLAIN, { ...PLAIN, available_qty: 4 })).toThrow('lists 100 twice');
});
