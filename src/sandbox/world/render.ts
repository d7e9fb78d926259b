import type { RenderedProduct } from './answers.ts';
import { available, sellable, totals } from './model.ts';
import type { Product, Variant } from './model.ts';

type RenderedVariant = RenderedProduct['variants'][number];

export interface Store {
  readonly storeId: string;
  readonly priceTierId: string;
  readonly imageBaseUrl: string;
}

/** The `product` of `/v1/product/detail` ("ProductDetail"): fields that a record does not have are absent, never null. */
export function renderProduct(product: Product, store: Store): RenderedProduct {
  const live = product.variants.filter((variant) => !variant.deleted);
  const prices = live.map((variant) => variant.price).sort((a, b) => Number(a) - Number(b));
  const images = Array.from({ length: product.imageCount }, (_, index) => `${product.id}/${index}.jpg`);
  const warehouseIds = new Set<string>();
  if (product.kind !== 'pulled') {
    for (const variant of live) for (const level of variant.levels) warehouseIds.add(level.warehouseId);
  }
  return {
    id: product.id,
    name: product.name,
    description: product.description,
    store_id: store.storeId,
    img_uris: images.map((image) => `${store.imageBaseUrl}/full/${image}`),
    thumbnail_uris: images.map((image) => `${store.imageBaseUrl}/thumb/${image}`),
    tiny_img_uris: images.map((image) => `${store.imageBaseUrl}/tiny/${image}`),
    create_time: product.createTimeMs,
    update_time: product.updateTimeMs,
    ...(product.category !== null && { category: product.category }),
    price_tier_ids: [store.priceTierId],
    ...extras(product, store),
    ...(warehouseIds.size > 0 && { warehouse_ids: [...warehouseIds] }),
    ...(prices.length > 0 && { min: prices[0], max: prices.at(-1) }),
    ...(product.parentId !== null && { parent_id: product.parentId }),
    ...(product.hasChild && { has_child: true }),
    variants: live.map((variant, index) => ({
      ...renderVariant(variant, store),
      ...pictures(images[index], store),
    })),
  };
}

/**
 * Optional fields that some products have. They depend on the number of pictures: drawing random numbers for them would
 * change the catalogue of every seed.
 */
function extras(product: Product, store: Store): Partial<RenderedProduct> {
  const { imageCount, kind } = product;
  return {
    ...(imageCount >= 2 && { pg_vd_ids: [{ price_tier_id: store.priceTierId, vd_id: `${product.id}7` }] }),
    ...(imageCount >= 1 && { shipping_rates: shippingRates(product, '50.00') }),
    ...(imageCount >= 1 && kind === 'pulled' && { seller_shipping_rates: shippingRates(product, '35.00') }),
  };
}

function shippingRates(product: Product, initPrice: string) {
  return [false, true].map((isCod, index) => ({
    id: `${product.id}${index}`,
    shipping_type: 'flash' as const,
    is_cod: isCod,
    init_qty: 1,
    init_price: initPrice,
    next_price: '10.00',
    create_time: product.createTimeMs,
    update_time: product.createTimeMs,
  }));
}

/** Some variants have none: the later ones of a product with few pictures. */
function pictures(image: string | undefined, store: Store): Partial<RenderedVariant> {
  if (image === undefined) return {};
  return {
    img_url: `${store.imageBaseUrl}/full/${image}`,
    thumbnail_url: `${store.imageBaseUrl}/thumb/${image}`,
    tiny_img_url: `${store.imageBaseUrl}/tiny/${image}`,
  };
}

function renderVariant(variant: Variant, store: Store): RenderedVariant {
  const componentUnits = variant.components.reduce((sum, component) => sum + component.qty, 0);
  return {
    product_variant_id: variant.id,
    name: variant.name,
    create_time: variant.createTimeMs,
    update_time: variant.updateTimeMs,
    ...(variant.sku !== null && { sku: variant.sku }),
    ...(variant.upc !== null && { upc: variant.upc }),
    ...(variant.pulledFromVariantId !== null && {
      pulled_from_product_variant_id: variant.pulledFromVariantId,
    }),
    ...(variant.kind === 'bundle' &&
      variant.compositionId !== null && {
        product_bundle_id: variant.compositionId,
        bundled_pp_count: variant.components.length,
        bundled_sum_qty: componentUnits,
      }),
    ...(variant.bundledBy.size > 0 && { bundled_by_count: variant.bundledBy.size }),
    ...(variant.kind === 'assembled' &&
      variant.compositionId !== null && {
        product_assembly_id: variant.compositionId,
        assembled_pp_count: variant.components.length,
        assembled_sum_qty: componentUnits,
      }),
    ...(variant.allowNegativeStock && { allow_negative_stock: true }),
    prices: [{ id: variant.id, price_tier_id: store.priceTierId, price: variant.price }],
    ...(variant.cost !== null && { cost: variant.cost }),
    available_qty: sellable(variant),
    ...(holdsOwnStock(variant) && ownStock(variant)),
    weight: variant.weight,
  };
}

/** Only own products show `on_hand`, `reserved_qty` and `warehouses`; a bundle has no stock of its own. */
function holdsOwnStock(variant: Variant): boolean {
  return variant.kind === 'own' || variant.kind === 'assembled';
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
