import type { Cause, Ledger } from './ledger.ts';
import { available } from './model.ts';
import type { StockLevel, Change, Component, Publish, Variant } from './model.ts';
import { actorOf } from './reasons.ts';
import { OperationError, levelToTakeFrom, requireLevel, requireVariant } from './targets.ts';
import type { Truth } from './truth.ts';

interface LevelTarget {
  readonly variantId: string;
  readonly warehouseId?: string;
}

export interface StockOperations {
  /** Sets the available quantity. The default reason is `user_adjusted`. */
  adjust(target: LevelTarget & { readonly to: number } & Told): Change[];
  /** Adds to the quantity on hand; negative figures subtract. The default reason is `user_added` or `user_deducted`. */
  add(target: LevelTarget & { readonly by: number } & Told): Change[];
  /** Several changes of one stock level, all at one `update_time`, each in a delivery of its own. */
  burst(target: LevelTarget & { readonly by: readonly number[] }): Change[];
  /** A→B→A: one change and its opposite, in two deliveries. */
  flip(target: LevelTarget & { readonly by: number }): Change[];
  /** Builds units from their components, in one delivery. */
  assemble(target: LevelTarget & { readonly units: number }): Change[];
  /** Takes assembled units apart again. */
  disassemble(target: LevelTarget & { readonly units: number }): Change[];
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
  }: LevelTarget): { readonly variant: Variant; readonly level: StockLevel } => {
    const variant = requireVariant(truth, variantId);
    return { variant, level: requireLevel(variant, warehouseId) };
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
    at: { readonly variant: Variant; readonly level: StockLevel },
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

  const rebuild = (request: LevelTarget & { readonly units: number }, direction: 1 | -1): Change[] => {
    const { units } = request;
    if (!Number.isSafeInteger(units) || units < 1) {
      throw new OperationError(`units must be a whole number of at least 1, not ${units}`);
    }
    const { variant, level } = target(request);
    if (variant.kind !== 'assembled') throw new OperationError(`variant ${variant.id} is not assembled`);
    const levelOf = (component: Component): StockLevel => {
      requireVariant(truth, component.variant.id);
      return direction === 1
        ? levelToTakeFrom(component.variant, component.qty * units)
        : requireLevel(component.variant);
    };
    if (direction === -1) levelToTakeFrom(variant, units, level);
    // All stock levels are looked up before any changes: an assembly that lacks a component changes nothing.
    const parts = variant.components.map((component) => ({ component, level: levelOf(component) }));
    const [gained, spent] =
      direction === 1
        ? ['assemble_added', 'assemble_deducted']
        : ['disassemble_added', 'disassemble_deducted'];
    return told([
      ...movedBy({ variant, level }, direction * units, direction === 1 ? gained : spent),
      ...parts.flatMap((part) =>
        movedBy(
          { variant: part.component.variant, level: part.level },
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
        movedBy(at, request.to - available(at.level), request.reason ?? 'user_adjusted', request.orderId),
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
      const { variant, level } = target(request);
      const stampMs = ledger.stamp(level);
      return request.by.flatMap((by) => {
        const change = ledger.move({ variant, level, onHand: by, cause: cause('user_adjusted'), stampMs });
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
