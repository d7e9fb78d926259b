import { stockLevel } from './factory.ts';
import type { VariantSpec } from './factory.ts';
import { available } from './model.ts';
import type { Change, Kind, Product, Variant } from './model.ts';
import type { OperationDeps } from './operations.ts';
import { OperationError, requireLevel, requireProduct, requireVariant } from './targets.ts';

type NewVariant = Pick<VariantSpec, 'name' | 'sku' | 'stock' | 'allowNegativeStock'>;

interface NewProduct {
  readonly name?: string;
  readonly kind?: Kind;
  /** By default one empty variant in the first warehouse. */
  readonly variants?: readonly NewVariant[];
  /** For a bundle or an assembled product. */
  readonly components?: readonly { readonly variantId: string; readonly qty: number }[];
}

interface Target {
  readonly variantId: string;
  readonly warehouseId: string;
}

/** Deleting and restoring send no webhook: the contract has no event for them. */
export function createStructuralOperations(deps: OperationDeps) {
  const { truth, ledger, clock, factory, published, userId } = deps;

  const specOf = (spec: NewVariant, kind: Kind): VariantSpec => {
    const [warehouseId] = kind === 'pulled' ? truth.sellerWarehouseIds : truth.warehouseIds;
    return { ...spec, stock: spec.stock ?? (warehouseId === undefined ? [] : [{ warehouseId, qty: 0 }]) };
  };
  /** A new variant's stock as changes from 0. A pulled variant's stock is not new, and a bundle has none. */
  const created = (variant: Variant): Change[] => {
    if (variant.kind === 'pulled') return [];
    const cause = { reason: 'variant_created', userId: userId() };
    return variant.levels.map((level) => {
      level.stampMs = ledger.stamp(level);
      return ledger.change({ variant, level, old: 0, new: available(level), cause });
    });
  };
  const requireOthers = ({ id, product }: Variant): void => {
    // A product has at least one variant: to delete the last one, delete the product.
    if (product.variants.filter(({ deleted }) => !deleted).length === 1)
      throw new OperationError(`variant ${id} is the last of its product`);
  };

  return {
    createProduct: ({ kind = 'own', name, variants = [{}], components = [] }: NewProduct = {}) => {
      const composed = kind === 'bundle' || kind === 'assembled';
      const parts = components.map(({ variantId, qty }) => ({
        variant: requireVariant(truth, variantId),
        qty,
      }));
      if (composed && parts.length === 0)
        throw new OperationError(`a product of kind ${kind} needs components`);
      const product = factory.product({
        ...{ kind, createTimeMs: clock.now(), ...(name !== undefined && { name }) },
        variants: variants.map((variant) => ({
          ...specOf(variant, kind),
          ...(composed && { components: parts }),
        })),
      });
      truth.add(product);
      return { product, changes: published(product.variants.flatMap(created)) };
    },
    createVariant: (productId: string, spec: NewVariant = {}) => {
      const product = requireProduct(truth, productId);
      if (product.kind !== 'own')
        throw new OperationError(`product ${productId} is ${product.kind}, not own`);
      const variant = factory.variant(product, specOf(spec, product.kind), clock.now());
      truth.addVariant(variant);
      return { variant, changes: published(created(variant)) };
    },
    renameProduct: (productId: string, name: string): void => {
      const product = requireProduct(truth, productId);
      truth.touchProduct(product);
      product.name = name;
      truth.edited(product);
    },
    /** Sends `user_set` from 0 when `qty` is not 0; an empty warehouse changes no available quantity. */
    addWarehouse: ({ variantId, warehouseId, qty }: Target & { readonly qty: number }): Change[] => {
      const variant = requireVariant(truth, variantId);
      if (variant.kind === 'bundle')
        throw new OperationError(`variant ${variantId} is a bundle and holds no stock`);
      if (truth.stockLevel(variantId, warehouseId) !== undefined)
        throw new OperationError(`variant ${variantId} already has warehouse ${warehouseId}`);
      truth.touch(variant);
      const level = stockLevel({ warehouseId, qty: 0 });
      variant.levels.push(level);
      const cause = { reason: 'user_set', userId: userId() };
      return published(ledger.move({ variant, level, onHand: qty, cause }));
    },
    /** Its stock is first set to 0, which sends a webhook; orders lose their reservations in it. */
    removeWarehouse: ({ variantId, warehouseId }: Target): Change[] => {
      const variant = requireVariant(truth, variantId);
      const level = requireLevel(variant, warehouseId);
      const cause = { reason: 'user_set', userId: userId() };
      const emptying = { onHand: -level.onHand, reserved: -level.reserved };
      const changes = ledger.move({ variant, level, ...emptying, cause });
      variant.levels.splice(variant.levels.indexOf(level), 1);
      return published(changes);
    },
    deleteVariant: (variantId: string): void => {
      const variant = requireVariant(truth, variantId);
      requireOthers(variant);
      truth.deleteVariant(variant);
    },
    /** To another own product; the variant keeps its id and its stock. */
    moveVariant: (variantId: string, productId: string): void => {
      const variant = requireVariant(truth, variantId);
      const product: Product = requireProduct(truth, productId);
      if (variant.product === product) throw new OperationError(`variant ${variantId} is in it already`);
      if (variant.kind !== 'own' || product.kind !== 'own')
        throw new OperationError('only variants of own products move, to own products');
      requireOthers(variant);
      truth.moveVariant(variant, product);
    },
    deleteProduct: (productId: string): void => {
      truth.deleteProduct(requireProduct(truth, productId));
    },
    restoreProduct: (productId: string): void => {
      const product = truth.products.find(({ id, deleted }) => deleted && id === productId);
      if (product === undefined) throw new OperationError(`no deleted product ${productId}`);
      truth.restoreProduct(product);
    },
  };
}
