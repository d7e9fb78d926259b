import { OperationError } from '../shared/errors.ts';
import type { Clock } from './clock.ts';
import { stockLevel, type Factory, type VariantSpec } from './catalogue.ts';
import type { Ids } from './ids.ts';
import { actorOf, Ledger, type Origin, type SentItem } from './ledger.ts';
import { available, type Kind, type StockLevel, type Variant } from './model.ts';
import { createOrderOperations } from './orders.ts';
import type { Random } from './random.ts';
import { levelToTakeFrom, requireLevel, requireProduct, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

interface Target {
  readonly variantId: string;
  readonly warehouseId?: string | undefined;
}

interface Reason {
  readonly reason?: string | undefined;
  readonly orderId?: string | undefined;
}

type NewVariant = Pick<VariantSpec, 'name' | 'sku' | 'stock' | 'allowNegativeStock'>;

interface NewProduct {
  readonly name?: string | undefined;
  readonly kind?: Kind | undefined;
  /** By default one empty variant in the first warehouse. */
  readonly variants?: readonly NewVariant[] | undefined;
  readonly components?: readonly { readonly variantId: string; readonly qty: number }[] | undefined;
}

/** Each action changes the truth and sends webhooks, or throws OperationError. Quantities must be whole numbers. */
export type Operations = ReturnType<typeof createOperations>;

export function createOperations(deps: {
  readonly truth: Truth;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly factory: Factory;
  readonly random: Random;
  readonly publish: (changes: readonly SentItem[]) => void;
}) {
  const { truth, clock, ids, factory, random, publish } = deps;
  const ledger = new Ledger({ truth, clock });
  const users = [ids.next(), ids.next(), ids.next()];

  const published = (changes: SentItem[]): SentItem[] => {
    if (changes.length > 0) publish(changes);
    return changes;
  };
  const at = ({ variantId, warehouseId }: Target) => {
    const variant = requireVariant(truth, variantId);
    return { variant, level: requireLevel(variant, warehouseId) };
  };
  const originOf = (reason: string, orderId?: string): Origin => {
    const actor = actorOf(reason);
    if (orderId !== undefined && actor !== 'order') throw new OperationError(`no order causes ${reason}`);
    if (actor === 'user') return { reason, user_id: random.pick(users) };
    return { reason, ...(orderId !== undefined && { order_id: orderId }) };
  };
  const moved = (
    place: { readonly variant: Variant; readonly level: StockLevel },
    onHand: number,
    origin: Origin,
    stampMs?: number,
  ): SentItem[] => ledger.move({ ...place, onHand, origin, stampMs });

  /** @param direction 1 assembles, -1 takes apart. A missing component changes nothing. */
  const rebuild = (
    { units, ...target }: Target & { readonly units: number },
    direction: 1 | -1,
  ): SentItem[] => {
    const { variant, level } = at(target);
    if (variant.kind !== 'assembled') throw new OperationError(`variant ${variant.id} is not assembled`);
    if (direction === -1) levelToTakeFrom(variant, units, level);
    const parts = variant.components.map(({ variant: { id }, qty }) => {
      const part = requireVariant(truth, id);
      return {
        qty,
        variant: part,
        level: direction === 1 ? levelToTakeFrom(part, qty * units) : requireLevel(part),
      };
    });
    const verb = direction === 1 ? 'assemble' : 'disassemble';
    const origin = (by: number): Origin => originOf(by > 0 ? `${verb}_added` : `${verb}_deducted`);
    return published([
      ...moved({ variant, level }, direction * units, origin(direction)),
      ...parts.flatMap(({ qty, ...part }) => moved(part, -direction * qty * units, origin(-direction))),
    ]);
  };

  const specOf = (spec: NewVariant, kind: Kind): VariantSpec => {
    const [warehouseId] = kind === 'pulled' ? truth.sellerWarehouseIds : truth.warehouseIds;
    return { ...spec, stock: spec.stock ?? (warehouseId === undefined ? [] : [{ warehouseId, qty: 0 }]) };
  };
  const created = (variant: Variant): SentItem[] => {
    if (variant.kind === 'pulled') return [];
    const origin = originOf('variant_created');
    return variant.levels.map((level) => {
      level.stampMs = ledger.stamp(level);
      return ledger.change({ variant, level, old: 0, new: available(level), origin });
    });
  };
  const requireOthers = ({ id, product }: Variant): void => {
    if (product.variants.filter(({ deleted }) => !deleted).length === 1)
      throw new OperationError(`variant ${id} is the last of its product`);
  };

  return {
    ...createOrderOperations({ truth, ledger, ids, published }),
    adjust: ({
      to,
      reason = 'user_adjusted',
      orderId,
      ...target
    }: Target & Reason & { readonly to: number }) => {
      const place = at(target);
      return published(moved(place, to - available(place.level), originOf(reason, orderId)));
    },
    add: ({ by, reason, orderId, ...target }: Target & Reason & { readonly by: number }) =>
      published(
        moved(at(target), by, originOf(reason ?? (by < 0 ? 'user_deducted' : 'user_added'), orderId)),
      ),
    /** Several changes of a stock level with one `update_time`, each in a delivery. */
    burst: ({ by, ...target }: Target & { readonly by: readonly number[] }) => {
      const place = at(target);
      const stampMs = ledger.stamp(place.level);
      return by.flatMap((each) => published(moved(place, each, originOf('user_adjusted'), stampMs)));
    },
    /** A change and its opposite, in two deliveries. */
    flip: ({ by, ...target }: Target & { readonly by: number }) => {
      const place = at(target);
      return [by, -by].flatMap((each) => published(moved(place, each, originOf('user_set'))));
    },
    assemble: (request: Target & { readonly units: number }) => rebuild(request, 1),
    disassemble: (request: Target & { readonly units: number }) => rebuild(request, -1),

    createProduct: ({ kind = 'own', name, variants = [{}], components = [] }: NewProduct = {}) => {
      const isComposed = kind === 'bundle' || kind === 'assembled';
      const parts = components.map(({ variantId, qty }) => ({
        variant: requireVariant(truth, variantId),
        qty,
      }));
      if (isComposed && parts.length === 0)
        throw new OperationError(`a product of kind ${kind} needs components`);
      const product = factory.product({
        kind,
        name,
        createTimeMs: clock.now(),
        variants: variants.map((variant) => ({
          ...specOf(variant, kind),
          ...(isComposed && { components: parts }),
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
    // The contract has no event for changes other than stock.
    renameProduct: (productId: string, name: string): void => {
      truth.edit(requireProduct(truth, productId), (product) => {
        product.name = name;
      });
    },
    /** Sends `user_set` from 0 when `qty` is not 0; an empty warehouse changes no available quantity. */
    addWarehouse: ({
      variantId,
      warehouseId,
      qty,
    }: Required<Target> & { readonly qty: number }): SentItem[] => {
      const variant = requireVariant(truth, variantId);
      if (variant.kind === 'bundle')
        throw new OperationError(`variant ${variantId} is a bundle and holds no stock`);
      if (variant.levels.some((level) => level.warehouseId === warehouseId))
        throw new OperationError(`variant ${variantId} already has warehouse ${warehouseId}`);
      truth.touch(variant);
      const level = stockLevel({ warehouseId: warehouseId ?? '', qty: 0 });
      variant.levels.push(level);
      return published(moved({ variant, level }, qty, originOf('user_set')));
    },
    /** Sends a webhook to 0; orders lose their reservations in it. */
    removeWarehouse: (target: Target): SentItem[] => {
      const { variant, level } = at(target);
      const emptying = { onHand: -level.onHand, reserved: -level.reserved };
      const changes = ledger.move({ variant, level, ...emptying, origin: originOf('user_set') });
      variant.levels.splice(variant.levels.indexOf(level), 1);
      return published(changes);
    },
    deleteVariant: (variantId: string): void => {
      const variant = requireVariant(truth, variantId);
      requireOthers(variant);
      truth.deleteVariant(variant);
    },
    moveVariant: (variantId: string, productId: string): void => {
      const variant = requireVariant(truth, variantId);
      const product = requireProduct(truth, productId);
      if (variant.product === product) throw new OperationError(`variant ${variantId} is in it already`);
      if (variant.kind !== 'own' || product.kind !== 'own')
        throw new OperationError('only variants of own products move, to own products');
      requireOthers(variant);
      truth.moveVariant(variant, product);
    },
    deleteProduct: (productId: string): void => {
      truth.setDeleted(requireProduct(truth, productId), true);
    },
    restoreProduct: (productId: string): void => {
      const product = truth.products.find(({ id, deleted }) => deleted && id === productId);
      if (product === undefined) throw new OperationError(`no deleted product ${productId}`);
      truth.setDeleted(product, false);
    },
  };
}
