/** The simulated store's products. Ids follow from an index, so a catalogue of any size takes no memory. */

const WAREHOUSES = [
  ['701', '702', '703'],
  ['701', '702', '703'],
  ['701', '702', '703', '704'],
] as const;
const FIRST_PRODUCT = 200_000_000_000;
const FIRST_VARIANT = 300_000_000_000;

export const LEVELS_PER_PRODUCT = WAREHOUSES.flat().length;

/** By index of the level; shared by the threads of the store and the load. */
export type Quantities = Int32Array<SharedArrayBuffer>;

export function newQuantities(products: number): Quantities {
  return new Int32Array(new SharedArrayBuffer(products * LEVELS_PER_PRODUCT * 4)).fill(50);
}

const PLACES = WAREHOUSES.flatMap((warehouses, variant) =>
  warehouses.map((warehouseId) => ({ variant, warehouseId })),
);

const variantNumber = (product: number, variant: number): number => product * WAREHOUSES.length + variant;
const skuOf = (number: number): string => `SKU-${number}`;

export function keysOf(level: number) {
  const place = PLACES[level % LEVELS_PER_PRODUCT] ?? { variant: 0, warehouseId: '' };
  const number = variantNumber(Math.floor(level / LEVELS_PER_PRODUCT), place.variant);
  return { id: String(FIRST_VARIANT + number), sku: skuOf(number), warehouse_id: place.warehouseId };
}

export function summaryOf(product: number) {
  return { id: String(FIRST_PRODUCT + product), name: `สินค้า ${product}` };
}

export function detailOf(productId: string, quantities: Quantities) {
  const product = Number(productId) - FIRST_PRODUCT;
  const times = { create_time: 1_735_689_600_000, update_time: 1_740_000_000_000 };
  let level = product * LEVELS_PER_PRODUCT;
  return {
    ...summaryOf(product),
    description: 'สินค้าคุณภาพดี\nจัดส่งภายใน 24 ชั่วโมง',
    store_id: '100000000001',
    img_uris: [`https://images.example.invalid/full/${productId}/0.jpg`],
    ...times,
    category: { id: '501', name: 'เสื้อผ้า', color: '#3366ff' },
    price_tier_ids: ['601'],
    warehouse_ids: WAREHOUSES[2],
    min: '99.00',
    max: '199.00',
    variants: WAREHOUSES.map((warehouseIds, i) => {
      const number = variantNumber(product, i);
      const id = String(FIRST_VARIANT + number);
      const warehouses = warehouseIds.map((warehouseId) => {
        const qty = quantities[level++] ?? 0;
        return { wh_id: warehouseId, on_hand: qty, available_qty: qty, reserved_qty: 0 };
      });
      const total = warehouses.reduce((sum, { on_hand }) => sum + on_hand, 0);
      return {
        product_variant_id: id,
        name: `แบบที่ ${i + 1}`,
        ...times,
        sku: skuOf(number),
        upc: String(8_850_000_000_000 + number),
        prices: [{ id, price_tier_id: '601', price: '149.00' }],
        cost: '80.00',
        available_qty: total,
        on_hand: total,
        reserved_qty: 0,
        warehouses,
        weight: 250,
      };
    }),
  };
}
