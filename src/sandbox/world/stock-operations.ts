import { actorOf } from './ledger.ts';
import type { Cause } from './ledger.ts';
import { available } from './model.ts';
import type { Change, StockLevel, Variant } from './model.ts';
import type { OperationDeps } from './operations.ts';
import {
  OperationError,
  levelToTakeFrom,
  requireLevel,
  requirePositive,
  requireVariant,
  requireWhole,
} from './targets.ts';

/** A stock level, by default that of the variant's first warehouse. */
interface Target {
  readonly variantId: string;
  readonly warehouseId?: string;
}

/** The reason of a change, and the order behind it for reasons such as `order_edited`. */
interface Why {
  readonly reason?: string;
  readonly orderId?: string;
}

export function createStockOperations({ truth, ledger, published, userId }: OperationDeps) {
  const at = ({ variantId, warehouseId }: Target) => {
    const variant = requireVariant(truth, variantId);
    return { variant, level: requireLevel(variant, warehouseId) };
  };
  const cause = (reason: string, orderId?: string): Cause => {
    const actor = actorOf(reason);
    if (orderId !== undefined && actor !== 'order') throw new OperationError(`no order causes ${reason}`);
    if (actor === 'user') return { reason, userId: userId() };
    return { reason, ...(orderId !== undefined && { orderId }) };
  };
  const moved = (
    place: { readonly variant: Variant; readonly level: StockLevel },
    onHand: number,
    why: Cause,
    stampMs?: number,
  ): Change[] => ledger.move({ ...place, onHand, cause: why, ...(stampMs !== undefined && { stampMs }) });

  /** @param direction 1 assembles, -1 takes apart. All levels are looked up first: a missing component changes nothing. */
  const rebuild = (
    { units, ...target }: Target & { readonly units: number },
    direction: 1 | -1,
  ): Change[] => {
    requirePositive('units', units);
    const { variant, level } = at(target);
    if (variant.kind !== 'assembled') throw new OperationError(`variant ${variant.id} is not assembled`);
    if (direction === -1) levelToTakeFrom(variant, units, level);
    const parts = variant.components.map(({ variant: part, qty }) => {
      requireVariant(truth, part.id);
      return {
        variant: part,
        level: direction === 1 ? levelToTakeFrom(part, qty * units) : requireLevel(part),
        qty,
      };
    });
    const verb = direction === 1 ? 'assemble' : 'disassemble';
    const why = (by: number): Cause => cause(by > 0 ? `${verb}_added` : `${verb}_deducted`);
    return published([
      ...moved({ variant, level }, direction * units, why(direction)),
      ...parts.flatMap(({ qty, ...part }) => moved(part, -direction * qty * units, why(-direction))),
    ]);
  };

  return {
    /** Sets the available quantity. */
    adjust: ({
      to,
      reason = 'user_adjusted',
      orderId,
      ...target
    }: Target & Why & { readonly to: number }) => {
      requireWhole('to', to);
      const place = at(target);
      return published(moved(place, to - available(place.level), cause(reason, orderId)));
    },
    /** Adds to the quantity on hand; negative quantities subtract. */
    add: ({ by, reason, orderId, ...target }: Target & Why & { readonly by: number }) => {
      requireWhole('by', by);
      const why = cause(reason ?? (by < 0 ? 'user_deducted' : 'user_added'), orderId);
      return published(moved(at(target), by, why));
    },
    /** Several changes of one stock level, all at one `update_time`, each in its own delivery. */
    burst: ({ by, ...target }: Target & { readonly by: readonly number[] }) => {
      for (const each of by) requireWhole('by', each);
      const place = at(target);
      const stampMs = ledger.stamp(place.level);
      return by.flatMap((each) => published(moved(place, each, cause('user_adjusted'), stampMs)));
    },
    /** A→B→A: one change and its opposite, in two deliveries. */
    flip: ({ by, ...target }: Target & { readonly by: number }) => {
      requireWhole('by', by);
      const place = at(target);
      return [by, -by].flatMap((each) => published(moved(place, each, cause('user_set'))));
    },
    /** Builds units from their components, in one delivery. */
    assemble: (request: Target & { readonly units: number }) => rebuild(request, 1),
    /** Takes assembled units apart again. */
    disassemble: (request: Target & { readonly units: number }) => rebuild(request, -1),
  };
}
