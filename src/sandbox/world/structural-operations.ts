import type { Clock } from './clock.ts';
import { stockLevel as newLevel } from './factory.ts';
import type { Factory, VariantSpec } from './factory.ts';
import type { Ledger } from './ledger.ts';
import { available } from './model.ts';
import type { Change, Product, Publish, Variant } from './model.ts';
import { OperationError, requireLevel, requireProduct, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

type NewVariant = Pick<VariantSpec, 'name' | 'sku' | 'stock' | 'allowNegativeStock'>;

interface NewProduct {
  readonly name?: string;
  readonly kind?: 'own' | 'pulled' | 'bundle' | 'assembled';
  /** One empty variant in the first warehouse by default. */
  readonly variants?: readonly NewVariant[];
  /** Of a bundle or an assembled product. */
  readonly components?: readonly { readonly variantId: string; readonly qty: number }[];
}

export interface StructuralOperations {
  createProduct(spec?: NewProduct): { readonly product: Product; readonly changes: Change[] };
  createVariant(
    productId: string,
    spec?: NewVariant,
  ): { readonly variant: Variant; readonly changes: Change[] };
  renameProduct(productId: string, name: string): void;
  /** Sends `user_set` from 0 when `qty` is not 0; an empty warehouse changes no available quantity. */
  addWarehouse(target: {
    readonly variantId: string;
    readonly warehouseId: string;
    readonly qty: number;
  }): Change[];
  /** Its stock is first set to 0, which sends a webhook; orders lose their reservations in it. */
  removeWarehouse(target: { readonly variantId: string; readonly warehouseId: string }): Change[];
  /** Deleting and restoring send no webhook: the contract has no event for them. */
  deleteVariant(variantId: string): void;
  /** To another own product; the variant keeps its id and its stock. */
  moveVariant(variantId: string, productId: string): void;
  deleteProduct(productId: string): void;
  restoreProduct(productId: string): void;
}

export function createStructuralOperations(deps: {
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly factory: Factory;
  readonly publish: Publish;
  readonly userId: () => string;
}): StructuralOperations {
  const { truth, ledger, clock, factory, publish, userId } = deps;

  const told = (changes: Change[]): Change[] => {
    publish(changes);
    return changes;
  };
  const specOf = (spec: NewVariant, kind: Product['kind']): VariantSpec => {
    const [warehouseId] = kind === 'pulled' ? truth.sellerWarehouseIds : truth.warehouseIds;
    const first = warehouseId === undefined ? [] : [{ warehouseId, qty: 0 }];
    return { ...spec, stock: spec.stock ?? first };
  };
  /** Sends a new variant's stock as changes from 0. A pulled variant's stock is not new, and a bundle has none. */
  const created = (variant: Variant): Change[] => {
    if (variant.kind === 'pulled') return [];
    const user = userId();
    return variant.levels.map((level) => {
      level.stampMs = ledger.stamp(level);
      return {
        productId: variant.product.id,
        variantId: variant.id,
        warehouseId: level.warehouseId,
        sku: variant.sku ?? '',
        old: 0,
        new: available(level),
        updateTimeMs: level.stampMs,
        reason: 'variant_created',
        userId: user,
      };
    });
  };

  return {
    createProduct: (spec = {}) => {
      const kind = spec.kind ?? 'own';
      const composed = kind === 'bundle' || kind === 'assembled';
      const components = (spec.components ?? []).map(({ variantId, qty }) => ({
        variant: requireVariant(truth, variantId),
        qty,
      }));
      if (composed && components.length === 0)
        throw new OperationError(`a product of kind ${kind} needs components`);
      const product = factory.product({
        kind,
        createTimeMs: clock.now(),
        ...(spec.name !== undefined && { name: spec.name }),
        variants: (spec.variants ?? [{}]).map((variant) => ({
          ...specOf(variant, kind),
          ...(composed && { components }),
        })),
      });
      truth.add(product);
      return { product, changes: told(product.variants.flatMap(created)) };
    },
    createVariant: (productId, spec = {}) => {
      const product = requireProduct(truth, productId);
      if (product.kind !== 'own')
        throw new OperationError(`product ${productId} is ${product.kind}, not own`);
      const variant = factory.variant(product, specOf(spec, product.kind), clock.now());
      truth.addVariant(variant);
      return { variant, changes: told(created(variant)) };
    },
    renameProduct: (productId, name) => {
      const product = requireProduct(truth, productId);
      truth.touchProduct(product);
      product.name = name;
      truth.edited(product);
    },
    addWarehouse: ({ variantId, warehouseId, qty }) => {
      const variant = requireVariant(truth, variantId);
      if (variant.kind === 'bundle')
        throw new OperationError(`variant ${variantId} is a bundle and holds no stock`);
      if (variant.levels.some((level) => level.warehouseId === warehouseId)) {
        throw new OperationError(`variant ${variantId} already has warehouse ${warehouseId}`);
      }
      truth.touch(variant);
      const level = newLevel({ warehouseId, qty: 0 });
      variant.levels.push(level);
      const cause = { reason: 'user_set', userId: userId() };
      const change = ledger.move({ variant, level, onHand: qty, cause });
      return told(change === null ? [] : [change]);
    },
    removeWarehouse: ({ variantId, warehouseId }) => {
      const variant = requireVariant(truth, variantId);
      const level = requireLevel(variant, warehouseId);
      const cause = { reason: 'user_set', userId: userId() };
      const emptying = { onHand: -level.onHand, reserved: -level.reserved };
      const change = ledger.move({ variant, level, ...emptying, cause });
      variant.levels.splice(variant.levels.indexOf(level), 1);
      return told(change === null ? [] : [change]);
    },
    deleteVariant: (variantId) => {
      const variant = requireVariant(truth, variantId);
      const rest = variant.product.variants.filter((other) => other !== variant && !other.deleted);
      // A product has at least one variant: to delete the last one, delete the product.
      if (rest.length === 0) throw new OperationError(`variant ${variantId} is the last of its product`);
      truth.deleteVariant(variant);
    },
    moveVariant: (variantId, productId) => {
      const variant = requireVariant(truth, variantId);
      const product = requireProduct(truth, productId);
      if (variant.product === product) throw new OperationError(`variant ${variantId} is in it already`);
      if (variant.kind !== 'own' || product.kind !== 'own')
        throw new OperationError('only variants of own products move, to own products');
      if (variant.product.variants.filter(({ deleted }) => !deleted).length === 1)
        throw new OperationError(`variant ${variantId} is the last of its product`);
      truth.moveVariant(variant, product);
    },
    deleteProduct: (productId) => {
      truth.deleteProduct(requireProduct(truth, productId));
    },
    restoreProduct: (productId) => {
      const product = truth.products.find((candidate) => candidate.id === productId);
      if (product === undefined || !product.deleted)
        throw new OperationError(`no deleted product ${productId}`);
      truth.restoreProduct(product);
    },
  };
}
