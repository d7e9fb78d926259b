import { available, sellable, totals, type Product, type Variant } from './model.ts';

export const STORE_ID = '719000000000000001';
const PRICE_TIER_ID = '719000000000000002';

export function imageUrl(product: Product, index: number, size = 'full'): string {
  return `https://images.example.invalid/${size}/${product.id}/${index}.jpg`;
}

export type RenderedProduct = ReturnType<typeof renderProduct>;

/** "ProductDetail": fields that a record does not have are absent, never null. */
export function renderProduct(product: Product) {
  const { imageCount, createTimeMs } = product;
  const live = product.variants.filter((variant) => !variant.deleted);
  const prices = live.map((variant) => variant.price).sort((a, b) => Number(a) - Number(b));
  const images = (size: string): string[] =>
    Array.from({ length: imageCount }, (_, index) => imageUrl(product, index, size));
  const warehouseIds = new Set(
    live.filter(holdsOwnStock).flatMap(({ levels }) => levels.map(({ warehouseId }) => warehouseId)),
  );
  return {
    id: product.id,
    name: product.name,
    description: product.description,
    store_id: STORE_ID,
    img_uris: images('full'),
    thumbnail_uris: images('thumb'),
    tiny_img_uris: images('tiny'),
    create_time: createTimeMs,
    update_time: product.updateTimeMs,
    ...(product.category !== null && { category: product.category }),
    price_tier_ids: [PRICE_TIER_ID],
    // The number of pictures decides which products lack these.
    ...(imageCount >= 2 && { pg_vd_ids: [{ price_tier_id: PRICE_TIER_ID, vd_id: `${product.id}7` }] }),
    ...(imageCount >= 1 && { shipping_rates: shippingRates(product, '50.00') }),
    ...(imageCount >= 1 &&
      product.kind === 'pulled' && { seller_shipping_rates: shippingRates(product, '35.00') }),
    ...(warehouseIds.size > 0 && { warehouse_ids: [...warehouseIds] }),
    ...(prices.length > 0 && { min: prices[0], max: prices.at(-1) }),
    ...(product.parentId !== null && { parent_id: product.parentId }),
    ...(product.hasChild && { has_child: true }),
    variants: live.map((variant, index) => ({
      ...renderVariant(variant),
      ...(index < imageCount && {
        img_url: imageUrl(product, index),
        thumbnail_url: imageUrl(product, index, 'thumb'),
        tiny_img_url: imageUrl(product, index, 'tiny'),
      }),
    })),
  };
}

function shippingRates({ id, createTimeMs }: Product, initPrice: string) {
  return [false, true].map((isCod, index) => ({
    id: `${id}${index}`,
    shipping_type: 'flash' as const,
    is_cod: isCod,
    init_qty: 1,
    init_price: initPrice,
    next_price: '10.00',
    create_time: createTimeMs,
    update_time: createTimeMs,
  }));
}

function renderVariant(variant: Variant) {
  const { kind, components, createTimeMs } = variant;
  const units = components.reduce((sum, component) => sum + component.qty, 0);
  return {
    product_variant_id: variant.id,
    name: variant.name,
    create_time: createTimeMs,
    update_time: createTimeMs,
    ...(variant.sku !== null && { sku: variant.sku }),
    ...(variant.upc !== null && { upc: variant.upc }),
    ...(variant.pulledFromVariantId !== null && {
      pulled_from_product_variant_id: variant.pulledFromVariantId,
    }),
    ...(kind === 'bundle' && {
      product_bundle_id: `${variant.id}8`,
      bundled_pp_count: components.length,
      bundled_sum_qty: units,
    }),
    ...(variant.bundledBy.size > 0 && { bundled_by_count: variant.bundledBy.size }),
    ...(kind === 'assembled' && {
      product_assembly_id: `${variant.id}9`,
      assembled_pp_count: components.length,
      assembled_sum_qty: units,
    }),
    ...(variant.allowNegativeStock && { allow_negative_stock: true }),
    prices: [{ id: variant.id, price_tier_id: PRICE_TIER_ID, price: variant.price }],
    ...(variant.cost !== null && { cost: variant.cost }),
    available_qty: sellable(variant),
    ...(holdsOwnStock(variant) && ownStock(variant)),
    weight: variant.weight,
  };
}

/** Only these show `on_hand`, `reserved_qty` and `warehouses`. */
function holdsOwnStock({ kind }: Variant): boolean {
  return kind === 'own' || kind === 'assembled';
}

function ownStock(variant: Variant) {
  const { onHand, reserved } = totals(variant);
  return {
    on_hand: onHand,
    reserved_qty: reserved,
    warehouses: variant.levels.map((level) => ({
      wh_id: level.warehouseId,
      on_hand: level.onHand,
      available_qty: available(level),
      reserved_qty: level.reserved,
    })),
  };
}
