import type { Factory, ProductSpec, VariantSpec } from './factory.ts';
import type { Component, Variant } from './model.ts';
import type { Random } from './random.ts';
import type { Truth } from './truth.ts';

/** 2025-01-01: fixed, so that the same seed gives the same times on any day. */
const FIRST_CREATE_MS = Date.UTC(2025, 0, 1);
const NINETY_DAYS_MS = 90 * 86_400_000;

type Shape = 'single' | 'multi' | 'pulled' | 'bundle' | 'assembled';

/**
 * The share of each kind, as a repeating pattern: even a catalogue of six products has one of each. It starts with
 * own products because bundles and assemblies are made of them.
 */
const SHAPES: readonly Shape[] = [
  ...(['single', 'multi', 'single', 'pulled', 'bundle', 'assembled'] as const),
  ...(['single', 'single', 'multi', 'single', 'pulled', 'single', 'single'] as const),
  ...(['multi', 'single', 'bundle', 'pulled', 'single', 'multi', 'single'] as const),
];

/** Adds `count` products to the truth, made from the seed. */
export function fillCatalogue(deps: {
  readonly truth: Truth;
  readonly factory: Factory;
  readonly random: Random;
  readonly count: number;
}): void {
  const { truth, factory, random, count } = deps;
  const own: Variant[] = [];

  for (let index = 0; index < count; index += 1) {
    const shape = SHAPES[index % SHAPES.length] ?? 'single';
    const product = factory.product(specOf(shape, { truth, random, own }));
    if (product.kind === 'own') own.push(...product.variants);
    // Edited some time after its creation, so that lists by either time differ.
    product.updateTimeMs += random.int(0, NINETY_DAYS_MS);
    truth.add(product);
  }
}

function specOf(
  shape: Shape,
  context: { readonly truth: Truth; readonly random: Random; readonly own: readonly Variant[] },
): ProductSpec {
  const { truth, random, own } = context;
  const createTimeMs = FIRST_CREATE_MS + random.int(0, NINETY_DAYS_MS);
  const ownStock = (most = truth.warehouseIds.length): VariantSpec => ({
    stock: random
      .shuffle(truth.warehouseIds)
      .slice(0, random.int(1, most))
      .map((warehouseId) => ({ warehouseId, qty: random.chance(0.1) ? 0 : random.int(1, 200) })),
  });
  const components = (): Component[] =>
    random
      .shuffle(own.length > 50 ? own.slice(-50) : own)
      .slice(0, random.int(2, 3))
      .map((variant) => ({ variant, qty: random.int(1, 3) }));

  switch (shape) {
    case 'single':
      return { kind: 'own', createTimeMs, variants: [ownStock()] };
    case 'multi':
      return {
        kind: 'own',
        createTimeMs,
        variants: Array.from({ length: random.int(2, 6) }, () => ownStock()),
      };
    case 'pulled': {
      const stock = truth.sellerWarehouseIds
        .slice(0, random.int(1, truth.sellerWarehouseIds.length))
        .map((warehouseId) => ({ warehouseId, qty: random.int(0, 80) }));
      return {
        kind: 'pulled',
        createTimeMs,
        variants: Array.from({ length: random.int(1, 3) }, () => ({ stock })),
      };
    }
    case 'bundle':
      return { kind: 'bundle', createTimeMs, variants: [{ components: components() }] };
    case 'assembled':
      return {
        kind: 'assembled',
        createTimeMs,
        variants: [{ ...ownStock(1), components: components() }],
      };
  }
}
