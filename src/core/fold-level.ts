/** Applies one stock level of a product read. */
import { BY_A_READ, driftCause, reportDrift } from './drift.ts';
import type { LevelSnapshot } from './entry.ts';
import type { Ledger } from './ledger.ts';
import { CONTRADICTION_RETRY_MS } from './limits.ts';
import { mergeLevel, type ReadContext } from './merge-read.ts';
import type { Cell } from './model.ts';
import type { VariantSighting } from './variant-sighting.ts';

interface FoldedLevel {
  /** By how much the level explains a movement of the total. */
  readonly explainedQty: number;
  /** The read set the level, or shows it although an earlier one did not. */
  readonly differs: boolean;
}

export function foldLevel(
  ledger: Ledger,
  sighting: VariantSighting,
  level: LevelSnapshot,
  read: ReadContext,
): FoldedLevel {
  return level.isContradictory === true
    ? foldContradiction(ledger, sighting, level, read)
    : foldFigure(ledger, sighting, level, read);
}

function foldFigure(
  ledger: Ledger,
  sighting: VariantSighting,
  level: LevelSnapshot,
  read: ReadContext,
): FoldedLevel {
  const { tables } = ledger;
  const { variant, product, requestId } = sighting;
  const before = tables.cell(variant.variantId, level.warehouseId);
  const outcome = mergeLevel(before, variant.variantId, level, read);
  ledger.report({
    kind: 'level',
    branch: outcome.branch,
    variantId: variant.variantId,
    warehouseId: level.warehouseId,
  });
  if (outcome.oblige) ledger.oblige(product.productId, 'conflict');
  if (outcome.cell === null) return { explainedQty: 0, differs: false };
  const cell: Cell = read.superseded ? outcome.cell : { ...outcome.cell, unseenReads: 0 };
  if (outcome.overwritten === null) {
    const revalued = before?.onHand !== cell.onHand || before.reservedQty !== cell.reservedQty;
    tables.putCell(revalued ? { ...cell, changeSeq: ledger.nextChangeSeq() } : cell);
    return { explainedQty: 0, differs: isShownAgain(before, cell) };
  }
  const { oldQty } = outcome.overwritten;
  const newQty = cell.qty;
  const cause =
    oldQty === null || before === undefined ? null : driftCause(ledger, sighting, level.warehouseId);
  const changeSeq = ledger.appendChange({
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
    reportDrift(ledger, sighting, { cause, warehouseId: level.warehouseId, oldQty, newQty });
  }
  return { explainedQty: newQty - (oldQty ?? 0), differs: true };
}

/**
 * The detail tells one figure twice, and not the same: it settles nothing. What was known stays, suspect until a change or
 * a detail without the contradiction sets it; what was not known is shown as it stands first. One more read may find that
 * it was a moment's. After that it is the store's to mend, and the schedule looks.
 */
function foldContradiction(
  ledger: Ledger,
  sighting: VariantSighting,
  level: LevelSnapshot,
  read: ReadContext,
): FoldedLevel {
  const { tables } = ledger;
  const { variantId } = sighting.variant;
  const { warehouseId } = level;
  const before = tables.cell(variantId, warehouseId);
  const isShown = before !== undefined && before.goneAtMs === null;
  if (read.superseded) return { explainedQty: 0, differs: false };
  noteContradiction(ledger, sighting, warehouseId);
  const folded = isShown ? { explainedQty: 0, differs: false } : foldFigure(ledger, sighting, level, read);
  const cell = tables.cell(variantId, warehouseId);
  if (cell === undefined || cell.goneAtMs !== null) return folded;
  tables.putCell({ ...cell, missingAtMs: null, unseenReads: 0, unexplainedAtMs: ledger.entry.atMs });
  return folded;
}

/** @param warehouseId null: the variant's total. To be called before its levels are marked. */
export function noteContradiction(
  ledger: Ledger,
  { variant: { variantId }, product: { productId } }: VariantSighting,
  warehouseId: string | null,
): void {
  ledger.report({ kind: 'contradiction', productId, variantId, warehouseId });
  const isNews = ledger.tables
    .cellsOf(variantId)
    .some(
      (cell) =>
        cell.goneAtMs === null &&
        cell.unexplainedAtMs === null &&
        (warehouseId === null || cell.warehouseId === warehouseId),
    );
  if (!isNews) return;
  ledger.oblige(productId, 'conflict', { notBeforeMs: ledger.entry.atMs + CONTRADICTION_RETRY_MS });
}

/** A read did not show it, and this one does. */
export function isShownAgain(
  before: { readonly missingAtMs: number | null } | undefined,
  after: { readonly missingAtMs: number | null },
): boolean {
  return before !== undefined && before.missingAtMs !== null && after.missingAtMs === null;
}
