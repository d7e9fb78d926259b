/** Performs one operation of the store. */
import type { SimulatedService } from '../../src/sandbox/sandbox.ts';
import { OperationError } from '../../src/sandbox/shared/errors.ts';
import { present } from '../shared/present.ts';
import type { Operation } from './plan.ts';

/** @throws OperationError if the catalogue has nothing to perform it with. */
export function operate(
  { operations, truth }: SimulatedService,
  what: Operation,
  { a, b, c }: { readonly a: number; readonly b: number; readonly c: number },
): void {
  const pick = <T>(items: readonly T[], index: number): T => {
    if (items.length === 0) throw new OperationError('nothing to choose from');
    return present(items[((index % items.length) + items.length) % items.length]);
  };
  const live = truth.variants.filter((variant) => truth.variant(variant.id) !== undefined);
  const stocked = live.filter((variant) => variant.levels.length > 0);
  const assembled = live.filter(({ kind }) => kind === 'assembled');
  const listed = live.filter(({ kind }) => kind !== 'pulled');
  const deleted = truth.products.filter((product) => product.deleted);
  const stockLevel = (): { variantId: string; warehouseId: string } => {
    const variant = pick(stocked, a);
    return { variantId: variant.id, warehouseId: pick(variant.levels, b).warehouseId };
  };
  const stock = [{ warehouseId: pick(truth.warehouseIds, b), qty: c % 50 }];
  switch (what) {
    case 'adjust':
      // Few different values, so that chains come back to where they were.
      operations.adjust({ ...stockLevel(), to: c % 5 });
      return;
    case 'add':
      operations.add({ ...stockLevel(), by: (c % 9) - 4 || 1 });
      return;
    case 'order':
      operations.reserve([
        { variantId: pick(live, a).id, qty: 1 + (c % 2) },
        ...(c % 3 === 0 ? [{ variantId: pick(live, c).id, qty: 1 }] : []),
      ]);
      return;
    case 'cancel':
    case 'ship': {
      const order = operations.orders.at(c % Math.max(1, operations.orders.size));
      if (order === undefined) throw new OperationError('no open order');
      operations[what](order.id);
      return;
    }
    case 'flip':
      operations.flip({ ...stockLevel(), by: 1 + (c % 3) });
      return;
    case 'burst':
      operations.burst({ ...stockLevel(), by: [1 + (c % 2), -1, 2].slice(0, 2 + (c % 2)) });
      return;
    case 'assemble':
    case 'disassemble':
      operations[what]({ variantId: pick(assembled, a).id, units: 1 + (c % 2) });
      return;
    case 'create_product':
      operations.createProduct({ variants: [{ stock }, ...(c % 3 === 0 ? [{ stock: [] }] : [])] });
      return;
    case 'create_variant':
      operations.createVariant(pick(truth.products, a).id, { stock });
      return;
    case 'add_warehouse':
      operations.addWarehouse({ variantId: pick(listed, a).id, ...present(stock[0]) });
      return;
    case 'remove_warehouse': {
      const spread = listed.filter(({ levels }) => levels.length > 1);
      const variant = pick(spread, a);
      operations.removeWarehouse({ variantId: variant.id, warehouseId: pick(variant.levels, b).warehouseId });
      return;
    }
    case 'delete_variant':
      operations.deleteVariant(pick(live, a).id);
      return;
    case 'move_variant':
      operations.moveVariant(pick(live, a).id, pick(truth.products, c).id);
      return;
    case 'delete_product':
      operations.deleteProduct(pick(truth.products, a + c).id);
      return;
    case 'restore_product':
      operations.restoreProduct(pick(deleted, a).id);
      return;
    case 'rename':
      operations.renameProduct(pick(truth.products, a).id, `renamed ${c}`);
  }
}
