/** Applies one variant of a product read: its total and its description, after its levels. */
import { BY_A_READ, driftCause, reportDrift } from './drift.ts';
import type { VariantSnapshot } from './entry.ts';
import { judgeCells } from './fold-absence.ts';
import { noteComponent } from './fold-delivery.ts';
import { foldLevel, isShownAgain, noteContradiction } from './fold-level.ts';
import type { Ledger } from './ledger.ts';
import { EARLIEST_MS, REPLICA_LAG_MS, UNSETTLED_MS } from './limits.ts';
import { isConcurrent, type ReadContext } from './merge-read.ts';
import type { Product, Variant } from './model.ts';
import { unmappedVariant } from './unknown.ts';
import type { VariantSighting } from './variant-sighting.ts';

/** @returns whether the read shows the variant otherwise than the mirror did, in what a read alone may change. */
export function foldVariant(ledger: Ledger, sighting: VariantSighting, read: ReadContext): boolean {
  const { tables } = ledger;
  const { variant: seen, product } = sighting;
  const known = tables.variant(seen.variantId);
  const before = known ?? unmappedVariant(seen.variantId, null);
  // Neither brings a tombstone back, nor creates what a later read may have shown to be gone.
  if ((known === undefined || known.goneAtMs !== null) && isConcurrent(before, read)) {
    // That it is shown at all says whose it is: nobody has to search for it.
    if (known !== undefined && !read.superseded) {
      tables.putVariant({ ...known, productId: product.productId, lookupAtMs: null });
    }
    ledger.oblige(product.productId, 'conflict');
    return false;
  }
  if (known !== undefined && !isOwner(ledger, known, product, read)) return false;
  const described: Variant = read.superseded ? before : describe(before, seen, product.productId);

  const isContradictory = seen.isContradictory === true && !read.superseded;
  if (isContradictory) noteContradiction(ledger, sighting, null);

  // The levels first: the total has a row of its own in the feed only for what they do not explain.
  let explainedQty = 0;
  let differs = false;
  for (const level of seen.levels ?? []) {
    const folded = foldLevel(ledger, sighting, level, read);
    explainedQty += folded.explainedQty;
    differs ||= folded.differs;
  }
  if (seen.levels !== null) {
    judgeCells(ledger, { guard: sighting.guard, productId: product.productId, seen, read });
  }

  // It tells no total: the one that is known moves with the levels, as it does by changes.
  const moved = isContradictory ? moveTotal(described, explainedQty) : described;
  const told = isContradictory ? { ...seen, availableQty: moved.availableQty ?? seen.availableQty } : seen;
  const { variant: merged, isTrusted } = foldTotal(ledger, {
    sighting: { ...sighting, variant: told },
    variant: moved,
    explainedQty,
    read,
  });
  const totalled = isContradictory ? { ...merged, totalHiMs: UNSETTLED_MS } : merged;
  if (isContradictory) suspectCells(ledger, seen.variantId);
  if (seen.levels === null) {
    const isBack = before.goneAtMs !== null && totalled.goneAtMs === null;
    if (isBack) restoreCells(ledger, sighting, before.goneAtMs);
    if (!isTrusted) suspectCells(ledger, seen.variantId);
  }
  const redescribed = sighting.renamed || isRedescribed(before, totalled);
  if (redescribed) renumberCells(ledger, seen.variantId);
  if (before.availableQty !== null && before.availableQty !== totalled.availableQty) {
    noteComponent(ledger, totalled);
  }
  const changed = redescribed || isRevalued(before, totalled) || explainedQty !== 0;
  tables.putVariant(changed ? { ...totalled, changeSeq: ledger.nextChangeSeq() } : totalled);
  return differs || isShownOtherwise(before, totalled);
}

/**
 * Whose the variant is, when another product showed it before: that of the answer that was sent later.
 *
 * @returns false: the other product showed it later, and nothing of this answer about it counts.
 */
function isOwner(ledger: Ledger, variant: Variant, product: Product, read: ReadContext): boolean {
  const { productId } = product;
  if (variant.productId === null || variant.productId === productId || read.superseded) return true;
  const other = ledger.tables.product(variant.productId);
  const isShownThere = variant.goneAtMs === null && variant.missingAtMs === null;
  const isLater = !isShownThere || other === undefined || read.sentAtMs >= other.readAtMs;
  const [winner, loser] = isLater ? [productId, variant.productId] : [variant.productId, productId];
  // Of two answers in an unknown order the earlier may be the one that stands now. Only the one that has lost is read
  // again, so that two products that both list the variant are not read for ever.
  const overlaps =
    other !== undefined && Math.abs(read.sentAtMs - other.readAtMs) < REPLICA_LAG_MS && isShownThere;
  if (overlaps) ledger.oblige(loser, 'conflict');
  if (isLater) {
    ledger.report({
      kind: 'moved',
      variantId: variant.variantId,
      fromProductId: loser,
      toProductId: winner,
    });
  }
  return isLater;
}

function moveTotal(variant: Variant, byQty: number): Variant {
  const { availableQty, goneAtMs } = variant;
  return availableQty === null || goneAtMs !== null
    ? variant
    : { ...variant, availableQty: availableQty + byQty };
}

interface FoldedTotal {
  readonly variant: Variant;
  /** The total speaks for the levels below it: it is what it was, by a figure that itself was certain. */
  readonly isTrusted: boolean;
}

interface ReadTotal {
  readonly sighting: VariantSighting;
  readonly variant: Variant;
  readonly explainedQty: number;
  readonly read: ReadContext;
}

function foldTotal(ledger: Ledger, { sighting, variant, explainedQty, read }: ReadTotal): FoldedTotal {
  const { variant: seen, product, requestId } = sighting;
  const oldQty = variant.goneAtMs === null ? variant.availableQty : null;
  const newQty = seen.availableQty;
  const concurrent = isConcurrent(variant, read);
  // A total is moved by differences: that one agrees which lacks a change may be by chance. Only levels set it right.
  const agrees = oldQty === newQty && tellsLevels(seen) && explainedQty === 0;
  if (concurrent && !agrees) {
    // The answer may have been received before the delivery that it did not see arrived.
    const atMs = Math.max(ledger.entry.atMs, variant.eventAtMs);
    ledger.oblige(product.productId, 'conflict', { atMs });
  }
  if (read.superseded || (concurrent && oldQty !== null && oldQty !== newQty)) {
    return { variant, isTrusted: true };
  }

  const known: Variant = {
    ...variant,
    availableQty: newQty,
    onHand: seen.onHand,
    reservedQty: seen.reservedQty,
    asOfMs: oldQty === newQty ? variant.asOfMs : read.sentAtMs,
    verifiedAtMs: concurrent && oldQty === null ? variant.verifiedAtMs : read.sentAtMs,
    totalHiMs: concurrent ? variant.totalHiMs : totalHiMs(seen, read),
    missingAtMs: null,
    goneAtMs: null,
    lookupAtMs: null,
  };
  const explained = newQty - (oldQty ?? 0) === explainedQty && (oldQty !== null || seen.levels !== null);
  if (oldQty !== newQty && !explained) {
    const cause = oldQty === null ? null : driftCause(ledger, sighting, null);
    ledger.appendChange({
      variantId: seen.variantId,
      warehouseId: null,
      sku: seen.sku,
      oldQty,
      newQty,
      ...BY_A_READ,
      reason: cause ?? (variant.goneAtMs === null ? 'first_read' : 'restored'),
      requestId,
    });
    if (oldQty !== null && cause !== null)
      reportDrift(ledger, sighting, { cause, warehouseId: null, oldQty, newQty });
  }
  // A first total, and one from a read that may have been too early, is no figure to hold the next against.
  return { variant: known, isTrusted: variant.verifiedAtMs !== null && oldQty === newQty };
}

/**
 * A total alone leaves no window in the levels below it, nor in one that is told twice. A change up to this instant that
 * arrives later may be in the total already, so it is in doubt, as rule 4b has it for a level that a read showed.
 */
function totalHiMs(seen: VariantSnapshot, { hiMs }: ReadContext): number {
  return tellsLevels(seen) ? EARLIEST_MS : hiMs;
}

/** Every one of them: the read sets the windows of them all. */
function tellsLevels({ levels }: VariantSnapshot): boolean {
  return levels?.every(({ isContradictory }) => isContradictory !== true) === true;
}

function describe(variant: Variant, seen: VariantSnapshot, productId: string): Variant {
  return {
    ...variant,
    productId,
    name: seen.name,
    sku: seen.sku,
    upc: seen.upc,
    kind: seen.kind,
    allowNegativeStock: seen.allowNegativeStock,
    priceJson: seen.priceJson,
    cost: seen.cost,
    bundledByCount: seen.bundledByCount,
    missingAtMs: null,
    lookupAtMs: null,
  };
}

/** What the rows of the variant's warehouses show of the variant. */
function isRedescribed(before: Variant, after: Variant): boolean {
  return before.productId !== after.productId || before.name !== after.name || before.sku !== after.sku;
}

/** What is on hand or reserved apart: no webhook tells it, and its own instant says how old it is. */
function isShownOtherwise(before: Variant, after: Variant): boolean {
  const { onHand, reservedQty } = after;
  const isRestated = isRedescribed(before, after) || isRevalued({ ...before, onHand, reservedQty }, after);
  return isRestated || isShownAgain(before, after);
}

function isRevalued(before: Variant, after: Variant): boolean {
  return (
    before.availableQty !== after.availableQty ||
    before.onHand !== after.onHand ||
    before.reservedQty !== after.reservedQty ||
    before.upc !== after.upc ||
    before.kind !== after.kind ||
    before.allowNegativeStock !== after.allowNegativeStock ||
    before.priceJson !== after.priceJson ||
    before.cost !== after.cost ||
    before.goneAtMs !== after.goneAtMs
  );
}

/** ERPs that poll by change number see the new description on every row that shows it. */
export function renumberCells(ledger: Ledger, variantId: string): void {
  for (const cell of ledger.tables.cellsOf(variantId)) {
    if (cell.goneAtMs === null) ledger.tables.putCell({ ...cell, changeSeq: ledger.nextChangeSeq() });
  }
}

/** The total moved, and no read shows in which warehouse. */
function suspectCells(ledger: Ledger, variantId: string): void {
  for (const cell of ledger.tables.cellsOf(variantId)) {
    if (cell.goneAtMs === null) ledger.tables.putCell({ ...cell, unexplainedAtMs: ledger.entry.atMs });
  }
}

/**
 * The variant is back, and its reads tell no warehouses: what went with it comes back as it was. As tombstones, the
 * stock levels would refuse every change to come.
 */
function restoreCells(ledger: Ledger, { variant, requestId }: VariantSighting, goneAtMs: number): void {
  const { tables } = ledger;
  for (const cell of tables.cellsOf(variant.variantId)) {
    // What had gone before it is not its warehouse any more.
    if (cell.goneAtMs === null || cell.goneAtMs < goneAtMs) continue;
    const changeSeq = ledger.appendChange({
      variantId: variant.variantId,
      warehouseId: cell.warehouseId,
      sku: variant.sku,
      oldQty: null,
      newQty: cell.qty,
      ...BY_A_READ,
      reason: 'restored',
      requestId,
    });
    tables.putCell({ ...cell, goneAtMs: null, missingAtMs: null, unseenReads: 0, changeSeq });
  }
}
