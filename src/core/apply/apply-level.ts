import { BY_A_READ, driftCause, reportDrift } from './drift.ts';
import type { LevelSnapshot } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { mergeLevel, type ReadContext } from '../merge/merge-read.ts';
import type { VariantSighting } from './apply-variant.ts';

interface AppliedLevel {
  readonly explainedQty: number;
  /** The read set the level, or shows a level that an earlier read missed. */
  readonly differs: boolean;
}

export function applyLevel(
  work: UnitOfWork,
  sighting: VariantSighting,
  seen: LevelSnapshot,
  read: ReadContext,
): AppliedLevel {
  const { tables } = work;
  const { variant, product, requestId } = sighting;
  const before = tables.stockLevel(variant.variantId, seen.warehouseId);
  const outcome = mergeLevel(before, variant.variantId, seen, read);
  work.report({
    kind: 'level',
    branch: outcome.branch,
    variantId: variant.variantId,
    warehouseId: seen.warehouseId,
  });
  if (outcome.requestRead) work.requestRead(product.productId, 'conflict');
  if (outcome.level === null) return { explainedQty: 0, differs: false };
  const { level } = outcome;
  if (outcome.overwritten === null) {
    const revalued = before?.onHand !== level.onHand || before.reservedQty !== level.reservedQty;
    tables.putStockLevel(revalued ? { ...level, changeSeq: work.nextChangeSeq() } : level);
    return { explainedQty: 0, differs: isShownAgain(before, level) };
  }
  const { oldQty } = outcome.overwritten;
  const newQty = level.qty;
  const cause = oldQty === null || before === undefined ? null : driftCause(work, sighting, seen.warehouseId);
  const changeSeq = work.appendChange({
    variantId: variant.variantId,
    warehouseId: seen.warehouseId,
    sku: variant.sku,
    oldQty,
    newQty,
    ...BY_A_READ,
    reason: cause ?? (before === undefined ? 'first_read' : 'restored'),
    requestId,
  });
  tables.putStockLevel({ ...level, changeSeq });
  if (oldQty !== null && cause !== null) {
    reportDrift(work, sighting, { cause, warehouseId: seen.warehouseId, oldQty, newQty });
  }
  return { explainedQty: newQty - (oldQty ?? 0), differs: true };
}

export function isShownAgain(
  before: { readonly missingAtMs: number | null } | undefined,
  after: { readonly missingAtMs: number | null },
): boolean {
  return before !== undefined && before.missingAtMs !== null && after.missingAtMs === null;
}

/** Clients that poll by change number must receive the new description with every row that shows it. */
export function renumberLevels(work: UnitOfWork, variantId: string): void {
  for (const level of work.tables.stockLevelsOf(variantId)) {
    if (level.goneAtMs === null) work.tables.putStockLevel({ ...level, changeSeq: work.nextChangeSeq() });
  }
}
