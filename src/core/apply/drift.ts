import type { DriftCause } from '../causes.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import type { VariantSighting } from './apply-variant.ts';

export const BY_A_READ = { source: 'read', orderId: null, userId: null, updateTimeMs: null } as const;

/** @param warehouseId null for the variant's total. */
export function driftCause(
  work: UnitOfWork,
  sighting: VariantSighting,
  warehouseId: string | null,
): DriftCause {
  if (warehouseId === null && sighting.variant.kind === 'bundle') return 'derived';
  const gaps = work.tables.gapsOf(sighting.variant.variantId);
  if (gaps.some((gap) => warehouseId === null || gap.warehouseId === warehouseId)) return 'gap';
  if (sighting.inDowntime) return 'downtime';
  return sighting.inConflict ? 'conflict' : 'lost_tail';
}

interface Drift {
  readonly cause: DriftCause;
  readonly warehouseId: string | null;
  readonly oldQty: number;
  readonly newQty: number;
}

export function reportDrift(
  work: UnitOfWork,
  sighting: VariantSighting,
  { cause, warehouseId, oldQty, newQty }: Drift,
): void {
  work.report({
    kind: 'drift',
    cause,
    productId: sighting.product.productId,
    variantId: sighting.variant.variantId,
    warehouseId,
    oldQty,
    newQty,
  });
}
