import type { Ids } from './ids.ts';
import type { Component, Kind, Product, StockLevel, Variant } from './model.ts';
import type { Random } from './random.ts';
import type { Truth } from './truth.ts';
import { categories, productNames, variantNames } from './wares.ts';

export interface VariantSpec {
  readonly name?: string | undefined;
  readonly sku?: string | null | undefined;
  readonly stock?: readonly { readonly warehouseId: string; readonly qty: number }[] | undefined;
  readonly components?: readonly Component[];
  readonly allowNegativeStock?: boolean | undefined;
}

interface ProductSpec {
  readonly kind: Kind;
  readonly name?: string | undefined;
  readonly createTimeMs: number;
  readonly variants: readonly VariantSpec[];
}

export class Factory {
  readonly #random: Random;
  readonly #ids: Ids;
  #serial = 0;

  constructor({ random, ids }: { readonly random: Random; readonly ids: Ids }) {
    this.#random = random;
    this.#ids = ids;
  }

  product(spec: ProductSpec): Product {
    const random = this.#random;
    const product: Product = {
      id: this.#ids.next(),
      kind: spec.kind,
      name: spec.name ?? `${random.pick(productNames)} ${random.int(1, 999)}`,
      description: random.chance(0.5) ? 'สินค้าคุณภาพดี\nจัดส่งภายใน 24 ชั่วโมง' : '',
      createTimeMs: spec.createTimeMs,
      updateTimeMs: spec.createTimeMs,
      parentId: spec.kind === 'pulled' ? this.#ids.next() : null,
      hasChild: spec.kind === 'own' && random.chance(0.1),
      imageCount: random.int(0, 3),
      category: random.chance(0.8) ? random.pick(categories) : null,
      variants: [],
      deleted: false,
    };
    const several = spec.variants.length > 1;
    spec.variants.forEach((variantSpec, index) => {
      const usual = several ? (variantNames[index % variantNames.length] ?? '') : '';
      const name = variantSpec.name ?? usual;
      product.variants.push(this.variant(product, { ...variantSpec, name }, spec.createTimeMs));
    });
    return product;
  }

  variant(product: Product, spec: VariantSpec, createTimeMs: number): Variant {
    const random = this.#random;
    const { kind } = product;
    this.#serial += 1;
    const priceSatang = random.int(1_900, 259_000);
    return {
      id: this.#ids.next(),
      product,
      kind,
      name: spec.name ?? '',
      sku: spec.sku === undefined ? sku(this.#serial, random) : spec.sku,
      upc: random.chance(0.4) ? `885${String(random.int(1, 9_999_999_999)).padStart(10, '0')}` : null,
      allowNegativeStock: spec.allowNegativeStock ?? (kind === 'own' && random.chance(0.08)),
      price: money(priceSatang),
      cost: random.chance(0.7) ? money(Math.floor(priceSatang * 0.6)) : null,
      weight: random.int(50, 5_000),
      createTimeMs,
      levels: kind === 'bundle' ? [] : (spec.stock ?? []).map((level) => stockLevel(level)),
      components: spec.components ?? [],
      pulledFromVariantId: kind === 'pulled' ? this.#ids.next() : null,
      bundledBy: new Set(),
      deleted: false,
    };
  }
}

export function stockLevel(level: { readonly warehouseId: string; readonly qty: number }): StockLevel {
  return { warehouseId: level.warehouseId, onHand: level.qty, reserved: 0, stampMs: 0 };
}

/** Some variants have no SKU, and older ones share one ("ProductVariantDetail"). */
function sku(serial: number, random: Random): string | null {
  const choice = random.next();
  if (choice < 0.08) return null;
  if (choice < 0.12) return 'OLD-001';
  if (choice < 0.2) return `สินค้า-${serial}`;
  return `SKU-${String(serial).padStart(5, '0')}`;
}

function money(satang: number): string {
  return (satang / 100).toFixed(2);
}

/** Fixed, so that the same seed gives the same times on any day. */
const FIRST_CREATE_MS = Date.UTC(2025, 0, 1);
const NINETY_DAYS_MS = 90 * 86_400_000;

/** Starts with own products, the components of the others; the first six have one of each kind. */
const PATTERN = [
  'single',
  'multi',
  'single',
  'pulled',
  'bundle',
  'assembled',
  'single',
  'single',
  'multi',
  'single',
  'pulled',
  'single',
  'single',
  'multi',
  'single',
  'bundle',
  'pulled',
  'single',
  'multi',
  'single',
] as const;

export function fillCatalogue(deps: {
  readonly truth: Truth;
  readonly factory: Factory;
  readonly random: Random;
  readonly count: number;
}): void {
  const { truth, factory, random, count } = deps;
  const own: Variant[] = [];
  const levels = (warehouseIds: readonly string[], qty: () => number): VariantSpec => ({
    stock: warehouseIds.map((warehouseId) => ({ warehouseId, qty: qty() })),
  });
  const ownStock = (most = truth.warehouseIds.length): VariantSpec =>
    levels(random.shuffle(truth.warehouseIds).slice(0, random.int(1, most)), () =>
      random.chance(0.1) ? 0 : random.int(1, 200),
    );
  const components = (): Component[] =>
    random
      .shuffle(own.slice(-50))
      .slice(0, random.int(2, 3))
      .map((variant) => ({ variant, qty: random.int(1, 3) }));
  const specs: Readonly<Record<(typeof PATTERN)[number], () => Pick<ProductSpec, 'kind' | 'variants'>>> = {
    single: () => ({ kind: 'own', variants: [ownStock()] }),
    multi: () => ({ kind: 'own', variants: Array.from({ length: random.int(2, 6) }, () => ownStock()) }),
    pulled: () => {
      const some = truth.sellerWarehouseIds.slice(0, random.int(1, truth.sellerWarehouseIds.length));
      const stock = levels(some, () => random.int(0, 80));
      return { kind: 'pulled', variants: Array.from({ length: random.int(1, 3) }, () => stock) };
    },
    bundle: () => ({ kind: 'bundle', variants: [{ components: components() }] }),
    assembled: () => ({ kind: 'assembled', variants: [{ ...ownStock(1), components: components() }] }),
  };

  for (let index = 0; index < count; index += 1) {
    const createTimeMs = FIRST_CREATE_MS + random.int(0, NINETY_DAYS_MS);
    const spec = specs[PATTERN[index % PATTERN.length] ?? 'single']();
    const product = factory.product({ ...spec, createTimeMs });
    if (product.kind === 'own') own.push(...product.variants);
    product.updateTimeMs += random.int(0, NINETY_DAYS_MS);
    truth.add(product);
  }
}
