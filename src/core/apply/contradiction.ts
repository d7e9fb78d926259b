/** A detail that says two things about one figure (docs/architecture.md#details-that-contradict-themselves). */
import type { LevelSnapshot } from '../entry.ts';
import { applyLevel, type AppliedLevel } from './apply-level.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { CONTRADICTION_RETRY_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { Variant } from '../model.ts';
import type { VariantSighting } from './variant-sighting.ts';

/**
 * The detail tells one figure twice, and not the same: it settles nothing. What was known stays, suspect until a change or
 * a detail without the contradiction sets it; what was not known is shown as it stands first. One more read may find that
 * it was a moment's. After that it is the store's to mend, and the schedule looks.
 */
export function applyContradiction(
  work: UnitOfWork,
  sighting: VariantSighting,
  seen: LevelSnapshot,
  read: ReadContext,
): AppliedLevel {
  const { tables } = work;
  const { variantId } = sighting.variant;
  const { warehouseId } = seen;
  const before = tables.stockLevel(variantId, warehouseId);
  const isShown = before !== undefined && before.goneAtMs === null;
  if (read.superseded) return { explainedQty: 0, differs: false };
  noteContradiction(work, sighting, warehouseId);
  const applied = isShown ? { explainedQty: 0, differs: false } : applyLevel(work, sighting, seen, read);
  const level = tables.stockLevel(variantId, warehouseId);
  if (level === undefined || level.goneAtMs !== null) return applied;
  tables.putStockLevel({ ...level, missingAtMs: null, unseenReads: 0, unexplainedAtMs: work.entry.atMs });
  return applied;
}

/** @param warehouseId null: the variant's total. To be called before its levels are marked. */
export function noteContradiction(
  work: UnitOfWork,
  { variant: { variantId }, product: { productId } }: VariantSighting,
  warehouseId: string | null,
): void {
  work.report({ kind: 'contradiction', productId, variantId, warehouseId });
  const isNews = work.tables
    .stockLevelsOf(variantId)
    .some(
      (level) =>
        level.goneAtMs === null &&
        level.unexplainedAtMs === null &&
        (warehouseId === null || level.warehouseId === warehouseId),
    );
  if (!isNews) return;
  work.requestRead(productId, 'conflict', { notBeforeMs: work.entry.atMs + CONTRADICTION_RETRY_MS });
}

/** A detail that gives two totals gives none: the one that is known moves with its levels, as it does by changes. */
export function moveTotal(variant: Variant, byQty: number): Variant {
  const { availableQty, goneAtMs } = variant;
  return availableQty === null || goneAtMs !== null
    ? variant
    : { ...variant, availableQty: availableQty + byQty };
}
