/** Folds one webhook delivery: each change into its cell and its variant's total, each doubt into an obligation. */
import { isPoison, observeArrival, offsetFloorMs } from './clock-bounds.ts';
import type { DeliveryEntry, StockChange, Unreadable } from './entry.ts';
import { fillGap, gapGraceMs, observeLateness } from './gap.ts';
import type { Ledger } from './ledger.ts';
import {
  BUNDLE_DELAY_MAX_MS,
  BUNDLE_DELAY_MIN_MS,
  BUNDLE_DELAY_PER_PRODUCT_MS,
  EARLIEST_MS,
  UNREADABLE_CANARY_EVERY_MS,
} from './limits.ts';
import { mergeChange, type ChangeOutcome } from './merge-change.ts';
import type { Cell, Variant } from './model.ts';

export function foldDelivery(ledger: Ledger, entry: DeliveryEntry): void {
  ledger.state = { ...ledger.state, lastDeliveryAtMs: entry.atMs };
  for (const change of entry.changes) foldChange(ledger, entry, change);
  for (const unreadable of entry.unreadable) foldUnreadable(ledger, unreadable);
}

function foldChange(ledger: Ledger, entry: DeliveryEntry, change: StockChange): void {
  const { tables } = ledger;
  const poison = isPoison(change.updateTimeMs, entry.atMs, ledger.state);
  if (!poison) {
    const floor = observeArrival(ledger.state, change.updateTimeMs, entry.atMs);
    if (floor !== ledger.state) ledger.state = { ...ledger.state, ...floor };
  }
  const variant = tables.variant(change.variantId) ?? unmappedVariant(change.variantId, change.sku);
  const before = tables.cell(change.variantId, change.warehouseId);
  const outcome = mergeChange(before, change, {
    seq: entry.seq,
    atMs: entry.atMs,
    poison,
    variantGoneAtMs: variant.goneAtMs,
  });
  ledger.report({
    kind: 'change',
    branch: outcome.branch,
    variantId: change.variantId,
    warehouseId: change.warehouseId,
  });

  let next: Variant = { ...variant, eventSeq: entry.seq, eventAtMs: entry.atMs };
  const unexpected = keepGaps(ledger, entry, change, outcome) === 'unexpected';
  if (outcome.oblige || unexpected) next = ledger.obligeVariant(next, 'conflict');
  if (outcome.applied) next = applyValue(ledger, entry, change, before, outcome.cell, next);
  else tables.putCell(outcome.cell);
  tables.putVariant(next);
}

/** Writes the cell's new value, the row of the change feed, and the total's movement. */
function applyValue(
  ledger: Ledger,
  entry: DeliveryEntry,
  change: StockChange,
  before: Cell | undefined,
  cell: Cell,
  variant: Variant,
): Variant {
  const { tables } = ledger;
  if (before !== undefined && before.qty === cell.qty) {
    tables.putCell(cell);
    return variant;
  }
  const told = {
    variantId: change.variantId,
    sku: variant.sku,
    source: 'webhook',
    reason: change.reason,
    orderId: change.orderId,
    userId: change.userId,
    updateTimeMs: change.updateTimeMs,
    requestId: entry.requestId,
  } as const;
  let changeSeq = ledger.appendChange({
    ...told,
    warehouseId: change.warehouseId,
    oldQty: before?.qty ?? null,
    newQty: cell.qty,
  });
  tables.putCell({ ...cell, changeSeq });

  // Of a new cell the total already held what the change says was there before.
  const deltaQty = cell.qty - (before?.qty ?? change.old);
  const total = variant.availableQty;
  if (total === null) return variant;
  if (before === undefined && change.old !== 0 && deltaQty !== 0) {
    changeSeq = ledger.appendChange({
      ...told,
      warehouseId: null,
      oldQty: total,
      newQty: total + deltaQty,
    });
  }
  if (variant.kind !== 'own' && variant.productId !== null) ledger.oblige(variant.productId, 'derived');
  noteComponent(ledger, variant);
  return { ...variant, availableQty: total + deltaQty, asOfMs: cell.asOfMs, changeSeq };
}

/** Bundles that hold the variant move with it, without a webhook of their own. */
export function noteComponent(ledger: Ledger, variant: Variant): void {
  if (variant.bundledByCount === 0 || ledger.state.bundlesDueAtMs !== null) return;
  const bundles = ledger.tables.bundleProductCount();
  if (bundles === 0) return;
  const delayMs = Math.min(
    BUNDLE_DELAY_MAX_MS,
    Math.max(BUNDLE_DELAY_MIN_MS, bundles * BUNDLE_DELAY_PER_PRODUCT_MS),
  );
  ledger.state = { ...ledger.state, bundlesDueAtMs: ledger.entry.atMs + delayMs };
}

/**
 * @returns `unexpected` for a change out of order that the last read need not have seen, in a cell whose chain has no
 * break: either a later delivery is missing too, or the times do not tell the order.
 */
function keepGaps(
  ledger: Ledger,
  entry: DeliveryEntry,
  change: StockChange,
  { branch, cell, gap }: ChangeOutcome,
): 'expected' | 'unexpected' {
  const gaps = ledger.tables
    .gapsOf(change.variantId)
    .filter(({ warehouseId }) => warehouseId === change.warehouseId);
  if (gap !== null) {
    // One body broke the chain twice.
    if (gaps.some(({ openedSeq }) => openedSeq === entry.seq)) return 'unexpected';
    const opened = {
      variantId: change.variantId,
      warehouseId: change.warehouseId,
      openedSeq: entry.seq,
      openedAtMs: entry.atMs,
      dueAtMs: entry.atMs + gapGraceMs(ledger.state.latenessMs),
      ...gap,
    };
    ledger.tables.putGap(opened);
    ledger.report({ kind: 'gap_opened', gap: opened });
    return 'expected';
  }
  if (branch !== '2 stale' && branch !== '2 stale, yet follows' && branch !== '3 precedes') return 'expected';

  const floorMs = offsetFloorMs(ledger.state);
  if (floorMs !== null) {
    const lateMs = Math.max(0, entry.atMs + floorMs - change.updateTimeMs);
    ledger.state = { ...ledger.state, latenessMs: observeLateness(ledger.state.latenessMs, lateMs) };
  }
  for (const open of gaps) {
    const rest = fillGap(open, change);
    if (rest === null) continue;
    if (rest === 'closed') {
      ledger.tables.deleteGap(open);
      ledger.report({ kind: 'gap_closed', gap: open });
    } else {
      ledger.tables.putGap(rest);
    }
    return 'expected';
  }
  return change.updateTimeMs >= cell.readLoMs ? 'unexpected' : 'expected';
}

/** Authentic, but not understood: kept, and what it may have been about is read. */
function foldUnreadable(ledger: Ledger, unreadable: Unreadable): void {
  const { tables, entry } = ledger;
  tables.quarantine(entry.seq, unreadable);
  ledger.report({
    kind: 'quarantined',
    variantId: unreadable.variantId,
    problem: unreadable.problem,
  });
  if (unreadable.variantId !== null) {
    const variant = tables.variant(unreadable.variantId) ?? unmappedVariant(unreadable.variantId, null);
    tables.putVariant(ledger.obligeVariant(variant, 'quarantine'));
    return;
  }
  if (ledger.state.canaryDueAtMs !== null) return;
  const canaryDueAtMs = Math.max(
    entry.atMs,
    Math.min(ledger.state.canarySentAtMs, entry.atMs) + UNREADABLE_CANARY_EVERY_MS,
  );
  ledger.state = { ...ledger.state, canaryDueAtMs };
}

/** A variant known by its id alone, until a read shows its product. */
export function unmappedVariant(variantId: string, sku: string | null): Variant {
  return {
    variantId,
    productId: null,
    sku,
    upc: null,
    name: '',
    kind: 'own',
    availableQty: null,
    onHand: null,
    reservedQty: null,
    allowNegativeStock: false,
    priceJson: null,
    cost: null,
    bundledByCount: 0,
    asOfMs: EARLIEST_MS,
    verifiedAtMs: null,
    eventSeq: 0,
    eventAtMs: EARLIEST_MS,
    missingAtMs: null,
    goneAtMs: null,
    lookupAtMs: null,
    changeSeq: 0,
  };
}
