import type { Factory, ProductSpec, VariantSpec } from './factory.ts';
import type { Component, Variant } from './model.ts';
import type { Random } from './random.ts';
import type { Truth } from './truth.ts';

/** 2025-01-01: fixed, so that the same seed gives the same times on any day. */
const FIRST_CREATE_MS = Date.UTC(2025, 0, 1);
const NINETY_DAYS_MS = 90 * 86_400_000;

/**
 * The share of each kind, as a repeating pattern: even a catalogue of six products has one of each. It starts with
 * own products because bundles and assemblies are made of them.
 */
const PATTERN = (
  'single multi single pulled bundle assembled single single multi single pulled single single multi single ' +
  'bundle pulled single multi single'
).split(' ');

/** Adds `count` products to the truth, made from the seed. */
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
  const specs: Readonly<Record<string, () => Pick<ProductSpec, 'kind' | 'variants'>>> = {
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
    const spec = specs[PATTERN[index % PATTERN.length] ?? '']?.();
    if (spec === undefined) throw new Error('the pattern has an unknown kind');
    const product = factory.product({ ...spec, createTimeMs });
    if (product.kind === 'own') own.push(...product.variants);
    // Edited some time after its creation, so that lists by either time differ.
    product.updateTimeMs += random.int(0, NINETY_DAYS_MS);
    truth.add(product);
  }
}
