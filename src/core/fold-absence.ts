/** What a read no longer shows: sighted once, confirmed by a second read, tombstoned, and held by the brake. */
import type { Ledger } from './ledger.ts';
import { LATEST_MS } from './limits.ts';
import { judgeAbsence, type ReadContext } from './merge-read.ts';
import type { Cell, Product, Variant } from './model.ts';
import { brakeHolds, removalWindow } from './removal-brake.ts';

/** Warehouses of a variant whose read told its warehouses. */
export function judgeCells(
  ledger: Ledger,
  productId: string,
  variantId: string,
  shown: ReadonlySet<string>,
  read: ReadContext,
): void {
  for (const cell of ledger.tables.cellsOf(variantId)) {
    if (cell.goneAtMs !== null || shown.has(cell.warehouseId)) continue;
    const verdict = judgeAbsence(cell, read);
    const id = `${cell.variantId}/${cell.warehouseId}`;
    switch (verdict.kind) {
      case 'contested':
        ledger.report({ kind: 'contested', what: 'cell', id });
        ledger.oblige(productId, 'conflict');
        break;
      case 'sighted':
        ledger.report({ kind: 'missing', what: 'cell', id });
        ledger.tables.putCell({ ...cell, missingAtMs: verdict.missingAtMs });
        ledger.obligeRemovalCheck(productId, verdict, read);
        break;
      case 'confirmed':
        ledger.report({ kind: 'removed', what: 'cell', id });
        removeCell(ledger, cell, read);
        break;
    }
  }
}

/** Variants of a product whose read no longer showed them. */
export function foldAbsentVariants(
  ledger: Ledger,
  productId: string,
  shown: ReadonlySet<string>,
  read: ReadContext,
): void {
  for (const variant of ledger.tables.variantsOf(productId)) {
    if (variant.goneAtMs !== null || shown.has(variant.variantId)) continue;
    const verdict = judgeAbsence(variant, read);
    switch (verdict.kind) {
      case 'contested':
        ledger.report({ kind: 'contested', what: 'variant', id: variant.variantId });
        ledger.oblige(productId, 'conflict');
        break;
      case 'sighted':
        ledger.report({ kind: 'missing', what: 'variant', id: variant.variantId });
        ledger.tables.putVariant({ ...variant, missingAtMs: verdict.missingAtMs });
        ledger.obligeRemovalCheck(productId, verdict, read);
        break;
      case 'confirmed':
        removeVariant(ledger, variant, read);
        break;
    }
  }
}

/** A product that the service answered 404 for. */
export function foldAbsentProduct(ledger: Ledger, product: Product, read: ReadContext): void {
  if (product.goneAtMs !== null || read.superseded) return;
  const { tables } = ledger;
  if (product.detailJson === null) {
    // Only a list has ever named it: nothing of it is shown to anybody, so nothing is lost.
    ledger.report({ kind: 'not_found', productId: product.productId });
    tables.putProduct({ ...product, readSeq: read.s0, readAtMs: read.sentAtMs, goneAtMs: ledger.entry.atMs });
    return;
  }
  const variants = tables.variantsOf(product.productId).filter((variant) => variant.goneAtMs === null);
  const known: Product = { ...product, readSeq: read.s0, readAtMs: read.sentAtMs };
  const verdict = judgeAbsence({ missingAtMs: product.missingAtMs, ...lastTouch(variants) }, read);
  switch (verdict.kind) {
    case 'contested':
      ledger.report({ kind: 'contested', what: 'product', id: product.productId });
      tables.putProduct(known);
      ledger.oblige(product.productId, 'conflict');
      return;
    case 'sighted':
      ledger.report({ kind: 'missing', what: 'product', id: product.productId });
      tables.putProduct({ ...known, missingAtMs: verdict.missingAtMs });
      ledger.obligeRemovalCheck(product.productId, verdict, read);
      return;
    case 'confirmed':
      if (isHeld(ledger, known, read)) return;
      ledger.report({ kind: 'removed', what: 'product', id: product.productId });
      for (const variant of variants) removeVariant(ledger, variant, read);
      tables.putProduct({ ...known, goneAtMs: ledger.entry.atMs });
      ledger.state = { ...ledger.state, removalsInWindow: ledger.state.removalsInWindow + 1 };
      return;
  }
}

/** A tombstone for the variant and all its cells. */
export function removeVariant(
  ledger: Ledger,
  variant: Variant,
  read: Pick<ReadContext, 'loMs' | 'hiMs'>,
): void {
  const { tables } = ledger;
  ledger.report({ kind: 'removed', what: 'variant', id: variant.variantId });
  for (const cell of tables.cellsOf(variant.variantId)) {
    if (cell.goneAtMs === null) removeCell(ledger, cell, read);
  }
  const tombstone: Variant = { ...variant, lookupAtMs: null, goneAtMs: ledger.entry.atMs };
  if (variant.availableQty === null) {
    tables.putVariant(tombstone);
    return;
  }
  const changeSeq = ledger.appendChange({
    ...REMOVED,
    variantId: variant.variantId,
    warehouseId: null,
    sku: variant.sku,
    oldQty: variant.availableQty,
  });
  tables.putVariant({ ...tombstone, changeSeq });
}

const REMOVED = {
  newQty: null,
  source: 'read',
  reason: 'removed',
  orderId: null,
  userId: null,
  updateTimeMs: null,
  requestId: null,
} as const;

function removeCell(ledger: Ledger, cell: Cell, read: Pick<ReadContext, 'loMs' | 'hiMs'>): void {
  const { tables } = ledger;
  for (const gap of tables.gapsOf(cell.variantId)) {
    if (gap.warehouseId === cell.warehouseId) tables.deleteGap(gap);
  }
  const changeSeq = ledger.appendChange({
    ...REMOVED,
    variantId: cell.variantId,
    warehouseId: cell.warehouseId,
    sku: tables.variant(cell.variantId)?.sku ?? null,
    oldQty: cell.qty,
  });
  tables.putCell({
    ...cell,
    changeSeq,
    goneAtMs: ledger.entry.atMs,
    readLoMs: Math.max(cell.readLoMs, read.loMs),
    readHiMs: Math.max(cell.readLoMs, read.hiMs),
  });
}

function isHeld(ledger: Ledger, product: Product, read: ReadContext): boolean {
  const { tables, entry } = ledger;
  ledger.state = { ...ledger.state, ...removalWindow(ledger.state, entry.atMs) };
  if (entry.atMs <= ledger.state.removalsAllowedUntilMs) return false;
  const missingProducts = tables.missingProductCount();
  const holds = brakeHolds({
    liveProducts: tables.liveProductCount(),
    missingProducts,
    removalsInWindow: ledger.state.removalsInWindow,
  });
  if (!holds) return false;
  tables.putProduct(product);
  // As old as the sighting: a standing doubt that this read came too early for must be met by the next one.
  ledger.oblige(product.productId, 'confirm_removal', {
    seq: read.s0,
    atMs: product.missingAtMs ?? read.sentAtMs,
    notBeforeMs: LATEST_MS,
  });
  ledger.report({ kind: 'brake', productId: product.productId, missingProducts });
  return true;
}

function lastTouch(variants: readonly Variant[]): { eventSeq: number; eventAtMs: number } {
  let eventSeq = 0;
  let eventAtMs = Number.MIN_SAFE_INTEGER;
  for (const variant of variants) {
    eventSeq = Math.max(eventSeq, variant.eventSeq);
    eventAtMs = Math.max(eventAtMs, variant.eventAtMs);
  }
  return { eventSeq, eventAtMs };
}
