/** Applies one stock level of a product read. */
import { BY_A_READ, driftCause, reportDrift } from './drift.ts';
import type { LevelSnapshot } from '../entry.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { mergeLevel, type ReadContext } from '../merge/merge-read.ts';
import type { Cell } from '../model.ts';
import type { VariantSighting } from './variant-sighting.ts';

export interface AppliedLevel {
  /** By how much the level explains a movement of the total. */
  readonly explainedQty: number;
  /** The read set the level, or shows it although an earlier one did not. */
  readonly differs: boolean;
}

export function applyLevel(
  work: UnitOfWork,
  sighting: VariantSighting,
  level: LevelSnapshot,
  read: ReadContext,
): AppliedLevel {
  const { tables } = work;
  const { variant, product, requestId } = sighting;
  const before = tables.cell(variant.variantId, level.warehouseId);
  const outcome = mergeLevel(before, variant.variantId, level, read);
  work.report({
    kind: 'level',
    branch: outcome.branch,
    variantId: variant.variantId,
    warehouseId: level.warehouseId,
  });
  if (outcome.requestRead) work.requestRead(product.productId, 'conflict');
  if (outcome.cell === null) return { explainedQty: 0, differs: false };
  const cell: Cell = read.superseded ? outcome.cell : { ...outcome.cell, unseenReads: 0 };
  if (outcome.overwritten === null) {
    const revalued = before?.onHand !== cell.onHand || before.reservedQty !== cell.reservedQty;
    tables.putCell(revalued ? { ...cell, changeSeq: work.nextChangeSeq() } : cell);
    return { explainedQty: 0, differs: isShownAgain(before, cell) };
  }
  const { oldQty } = outcome.overwritten;
  const newQty = cell.qty;
  const cause =
    oldQty === null || before === undefined ? null : driftCause(work, sighting, level.warehouseId);
  const changeSeq = work.appendChange({
    variantId: variant.variantId,
    warehouseId: level.warehouseId,
    sku: variant.sku,
    oldQty,
    newQty,
    ...BY_A_READ,
    reason: cause ?? (before === undefined ? 'first_read' : 'restored'),
    requestId,
  });
  tables.putCell({ ...cell, changeSeq });
  if (oldQty !== null && cause !== null) {
    reportDrift(work, sighting, { cause, warehouseId: level.warehouseId, oldQty, newQty });
  }
  return { explainedQty: newQty - (oldQty ?? 0), differs: true };
}

/** A read did not show it, and this one does. */
export function isShownAgain(
  before: { readonly missingAtMs: number | null } | undefined,
  after: { readonly missingAtMs: number | null },
): boolean {
  return before !== undefined && before.missingAtMs !== null && after.missingAtMs === null;
}
