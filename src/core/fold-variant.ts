/** Folds one variant of a product read: its levels, its total, its description. */
import type { LevelSnapshot, VariantSnapshot } from './entry.ts';
import type { DriftCause } from './fact.ts';
import { judgeCells } from './fold-absence.ts';
import { noteComponent } from './fold-delivery.ts';
import type { Ledger } from './ledger.ts';
import { REPLICA_LAG_MS } from './limits.ts';
import { isConcurrent, mergeLevel, type ReadContext } from './merge-read.ts';
import type { Product, Variant } from './model.ts';
import { unmappedVariant } from './unknown.ts';

/** What a row of the feed has that a read writes. */
const BY_A_READ = { source: 'read', orderId: null, userId: null, updateTimeMs: null } as const;

export interface VariantSighting {
  readonly variant: VariantSnapshot;
  readonly product: Product;
  readonly requestId: string | null;
  /** The product's name changed, and with it what its variants' rows show. */
  readonly renamed: boolean;
  /** The product was not read since the mirror last did not listen. */
  readonly inDowntime: boolean;
  /** A contradiction was on record before the read. */
  readonly inConflict: boolean;
}

export function foldVariant(ledger: Ledger, sighting: VariantSighting, read: ReadContext): void {
  const { tables } = ledger;
  const { variant: seen, product } = sighting;
  const known = tables.variant(seen.variantId);
  const before = known ?? unmappedVariant(seen.variantId, null);
  // Neither brings a tombstone back, nor creates what a later read may have shown to be gone.
  if ((known === undefined || known.goneAtMs !== null) && isConcurrent(before, read)) {
    ledger.oblige(product.productId, 'conflict');
    return;
  }
  const described: Variant = read.superseded ? before : describe(before, seen, product.productId);

  // The levels first: a total's own row in the feed tells only what they do not explain.
  let explainedQty = 0;
  for (const level of seen.levels ?? []) explainedQty += foldLevel(ledger, sighting, level, read);
  if (seen.levels !== null) {
    const shown = new Set(seen.levels.map((level) => level.warehouseId));
    judgeCells(ledger, product.productId, seen.variantId, shown, read);
  }

  const totalled = foldTotal(ledger, sighting, described, explainedQty, read);
  const isBack = before.goneAtMs !== null && totalled.goneAtMs === null;
  if (isBack && seen.levels === null) restoreCells(ledger, sighting, before.goneAtMs);
  const redescribed = sighting.renamed || isRedescribed(before, totalled);
  if (redescribed) renumberCells(ledger, seen.variantId);
  if (before.availableQty !== null && before.availableQty !== totalled.availableQty) {
    noteComponent(ledger, totalled);
  }
  const changed = redescribed || isRevalued(before, totalled) || explainedQty !== 0;
  tables.putVariant(changed ? { ...totalled, changeSeq: ledger.nextChangeSeq() } : totalled);
}

/** @returns by how much the level explains a movement of the total. */
function foldLevel(
  ledger: Ledger,
  sighting: VariantSighting,
  level: LevelSnapshot,
  read: ReadContext,
): number {
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
  if (outcome.cell === null) return 0;
  if (outcome.overwritten === null) {
    const revalued =
      before?.onHand !== outcome.cell.onHand || before.reservedQty !== outcome.cell.reservedQty;
    tables.putCell(revalued ? { ...outcome.cell, changeSeq: ledger.nextChangeSeq() } : outcome.cell);
    return 0;
  }
  const { oldQty } = outcome.overwritten;
  const newQty = outcome.cell.qty;
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
  tables.putCell({ ...outcome.cell, changeSeq });
  if (oldQty !== null && cause !== null) {
    reportDrift(ledger, sighting, cause, level.warehouseId, oldQty, newQty);
  }
  return newQty - (oldQty ?? 0);
}

function foldTotal(
  ledger: Ledger,
  sighting: VariantSighting,
  variant: Variant,
  explainedQty: number,
  read: ReadContext,
): Variant {
  const { variant: seen, product, requestId } = sighting;
  const oldQty = variant.goneAtMs === null ? variant.availableQty : null;
  const newQty = seen.availableQty;
  const concurrent = isConcurrent(variant, read);
  if (concurrent && oldQty !== newQty) {
    // The answer may have been received before the delivery that it did not see arrived.
    const atMs = Math.max(ledger.entry.atMs, variant.eventAtMs);
    ledger.oblige(product.productId, 'conflict', { atMs });
  }
  if (read.superseded || (concurrent && oldQty !== null && oldQty !== newQty)) return variant;

  const known: Variant = {
    ...variant,
    availableQty: newQty,
    onHand: seen.onHand,
    reservedQty: seen.reservedQty,
    asOfMs: oldQty === newQty ? variant.asOfMs : read.sentAtMs,
    verifiedAtMs: concurrent && oldQty === null ? variant.verifiedAtMs : read.sentAtMs,
    missingAtMs: null,
    goneAtMs: null,
    lookupAtMs: null,
  };
  // As with a level: of two reads so close to each other, the one sent first may have seen more.
  const soonAfter = variant.verifiedAtMs !== null && read.sentAtMs < variant.verifiedAtMs + REPLICA_LAG_MS;
  if (seen.levels === null && oldQty !== newQty && soonAfter) ledger.oblige(product.productId, 'conflict');
  // A first total, and one from a read that may have been too early, is no figure to hold the next against.
  const isTrusted = variant.verifiedAtMs !== null && oldQty === newQty;
  if (seen.levels === null && !isTrusted) suspectCells(ledger, seen.variantId);
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
    if (oldQty !== null && cause !== null) reportDrift(ledger, sighting, cause, null, oldQty, newQty);
  }
  return known;
}

/** @param warehouseId null: the variant's total. */
function driftCause(ledger: Ledger, sighting: VariantSighting, warehouseId: string | null): DriftCause {
  if (warehouseId === null && sighting.variant.kind === 'bundle') return 'derived';
  const gaps = ledger.tables.gapsOf(sighting.variant.variantId);
  if (gaps.some((gap) => warehouseId === null || gap.warehouseId === warehouseId)) return 'gap';
  if (sighting.inDowntime) return 'downtime';
  return sighting.inConflict ? 'conflict' : 'lost_tail';
}

function reportDrift(
  ledger: Ledger,
  sighting: VariantSighting,
  cause: DriftCause,
  warehouseId: string | null,
  oldQty: number,
  newQty: number,
): void {
  ledger.report({
    kind: 'drift',
    cause,
    productId: sighting.product.productId,
    variantId: sighting.variant.variantId,
    warehouseId,
    oldQty,
    newQty,
  });
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
function renumberCells(ledger: Ledger, variantId: string): void {
  for (const cell of ledger.tables.cellsOf(variantId)) {
    if (cell.goneAtMs === null) ledger.tables.putCell({ ...cell, changeSeq: ledger.nextChangeSeq() });
  }
}

/** The total moved, and nobody tells in which warehouse. */
function suspectCells(ledger: Ledger, variantId: string): void {
  for (const cell of ledger.tables.cellsOf(variantId)) {
    if (cell.goneAtMs === null) ledger.tables.putCell({ ...cell, unexplainedAtMs: ledger.entry.atMs });
  }
}

/**
 * The variant is back, and its reads tell no warehouses: what went with it comes back as it was, in doubt until a change
 * sets it. As tombstones, the cells would refuse every change to come.
 */
function restoreCells(ledger: Ledger, { variant, requestId }: VariantSighting, goneAtMs: number): void {
  const { tables, entry } = ledger;
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
    tables.putCell({ ...cell, goneAtMs: null, missingAtMs: null, unexplainedAtMs: entry.atMs, changeSeq });
  }
}
