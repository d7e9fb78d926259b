import type { Cause, Ledger } from './ledger.ts';
import { available } from './model.ts';
import type { Cell, Change, Component, Publish, Variant } from './model.ts';
import { actorOf } from './reasons.ts';
import { OperationError, cellToTakeFrom, requireCell, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

interface CellTarget {
  readonly variantId: string;
  readonly warehouseId?: string;
}

export interface StockOperations {
  /** Sets the available quantity. The default reason is `user_adjusted`. */
  adjust(target: CellTarget & { readonly to: number } & Told): Change[];
  /** Adds to the quantity on hand; negative figures subtract. The default reason is `user_added` or `user_deducted`. */
  add(target: CellTarget & { readonly by: number } & Told): Change[];
  /** Several changes of one stock level, all at one `update_time`, each in a delivery of its own. */
  burst(target: CellTarget & { readonly by: readonly number[] }): Change[];
  /** A→B→A: one change and its opposite, in two deliveries. */
  flip(target: CellTarget & { readonly by: number }): Change[];
  /** Builds units from their components, in one delivery. */
  assemble(target: CellTarget & { readonly units: number }): Change[];
  /** Takes assembled units apart again. */
  disassemble(target: CellTarget & { readonly units: number }): Change[];
}

/** The order that caused the change, for reasons such as `order_edited`. */
interface Told {
  readonly reason?: string;
  readonly orderId?: string;
}

export function createStockOperations(deps: {
  readonly truth: Truth;
  readonly ledger: Ledger;
  readonly publish: Publish;
  readonly userId: () => string;
}): StockOperations {
  const { truth, ledger, publish, userId } = deps;

  const target = ({
    variantId,
    warehouseId,
  }: CellTarget): { readonly variant: Variant; readonly cell: Cell } => {
    const variant = requireVariant(truth, variantId);
    return { variant, cell: requireCell(variant, warehouseId) };
  };
  const cause = (reason: string, orderId?: string): Cause => {
    const actor = actorOf(reason);
    if (orderId !== undefined && actor !== 'order') throw new OperationError(`no order causes ${reason}`);
    if (actor === 'user') return { reason, userId: userId() };
    return { reason, ...(orderId !== undefined && { orderId }) };
  };
  const whole = (field: string, value: number): void => {
    if (!Number.isSafeInteger(value))
      throw new OperationError(`${field} must be a whole number, not ${value}`);
  };
  const movedBy = (
    at: { readonly variant: Variant; readonly cell: Cell },
    by: number,
    reason: string,
    orderId?: string,
  ): Change[] => {
    const change = ledger.move({ ...at, onHand: by, cause: cause(reason, orderId) });
    return change === null ? [] : [change];
  };
  const told = (changes: Change[]): Change[] => {
    publish(changes);
    return changes;
  };

  const rebuild = (request: CellTarget & { readonly units: number }, direction: 1 | -1): Change[] => {
    const { units } = request;
    if (!Number.isSafeInteger(units) || units < 1) {
      throw new OperationError(`units must be a whole number of at least 1, not ${units}`);
    }
    const { variant, cell } = target(request);
    if (variant.kind !== 'assembled') throw new OperationError(`variant ${variant.id} is not assembled`);
    const cellOf = (component: Component): Cell => {
      requireVariant(truth, component.variant.id);
      return direction === 1
        ? cellToTakeFrom(component.variant, component.qty * units)
        : requireCell(component.variant);
    };
    if (direction === -1) cellToTakeFrom(variant, units, cell);
    // All stock levels are looked up before any changes: an assembly that lacks a component changes nothing.
    const parts = variant.components.map((component) => ({ component, cell: cellOf(component) }));
    const [gained, spent] =
      direction === 1
        ? ['assemble_added', 'assemble_deducted']
        : ['disassemble_added', 'disassemble_deducted'];
    return told([
      ...movedBy({ variant, cell }, direction * units, direction === 1 ? gained : spent),
      ...parts.flatMap((part) =>
        movedBy(
          { variant: part.component.variant, cell: part.cell },
          -direction * part.component.qty * units,
          direction === 1 ? spent : gained,
        ),
      ),
    ]);
  };

  return {
    adjust: (request) => {
      whole('to', request.to);
      const at = target(request);
      return told(
        movedBy(at, request.to - available(at.cell), request.reason ?? 'user_adjusted', request.orderId),
      );
    },
    add: (request) => {
      whole('by', request.by);
      const reason = request.reason ?? (request.by < 0 ? 'user_deducted' : 'user_added');
      return told(movedBy(target(request), request.by, reason, request.orderId));
    },
    burst: (request) => {
      request.by.forEach((by) => {
        whole('by', by);
      });
      const { variant, cell } = target(request);
      const stampMs = ledger.stamp(cell);
      return request.by.flatMap((by) => {
        const change = ledger.move({ variant, cell, onHand: by, cause: cause('user_adjusted'), stampMs });
        return change === null ? [] : told([change]);
      });
    },
    flip: (request) => {
      whole('by', request.by);
      const at = target(request);
      return [request.by, -request.by].flatMap((by) => told(movedBy(at, by, 'user_set')));
    },
    assemble: (request) => rebuild(request, 1),
    disassemble: (request) => rebuild(request, -1),
  };
}
