/** Writes what is decided about one variant of an answer (merge/judge-variant.ts). */
import type { DriftReason } from '../drift-reasons.ts';
import type { Claim, VariantSnapshot } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import { judgeVariant, type ShownVariant, type VariantVerdict } from '../merge/judge-variant.ts';
import type { LevelVerdict, ReadContext } from '../merge/merge-read.ts';
import { isUntold } from '../merge/way-in.ts';
import type { Product, StockLevel, Variant } from '../model.ts';
import { openOrder, renumberLevels, writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** The answer that the variants share. */
export interface Answer {
  readonly product: Product;
  readonly requestId: string | null;
  /** The product's name changed, which the rows of its variants show. */
  readonly renamed: boolean;
  readonly inDowntime: boolean;
  /** A contradiction was known before the read. */
  readonly inConflict: boolean;
  readonly claims: readonly Claim[];
  readonly read: ReadContext;
}

export function applyVariant(work: UnitOfWork, answer: Answer, seen: VariantSnapshot): VariantVerdict {
  const { tables, input } = work;
  const { productId } = answer.product;
  const variant = tables.variant(seen.variantId);
  const ownerId = variant?.productId ?? productId;
  const verdict = judgeVariant(
    {
      variant,
      levels: tables.stockLevelsOf(seen.variantId),
      product: answer.product,
      owner: ownerId === productId ? undefined : tables.product(ownerId),
      atMs: input.atMs,
      lastDeliveryAtMs: work.state.lastDeliveryAtMs,
    },
    seen,
    answer.read,
  );
  switch (verdict.kind) {
    case 'unproven':
      if (verdict.variant !== null) tables.putVariant(verdict.variant);
      work.requestRead(productId, 'conflict');
      break;
    case 'elsewhere':
      for (const id of verdict.overlapping) work.requestRead(id, 'conflict');
      break;
    case 'shown':
      writeVariant(work, answer, seen, verdict);
  }
  return verdict;
}

function writeVariant(work: UnitOfWork, answer: Answer, seen: VariantSnapshot, verdict: ShownVariant): void {
  const { productId } = answer.product;
  const { after, movedFrom } = verdict;
  const { variantId } = seen;
  for (const id of verdict.overlapping) work.requestRead(id, 'conflict');
  if (movedFrom !== null) {
    work.report({ kind: 'moved', variantId, fromProductId: movedFrom, toProductId: productId });
  }
  if (verdict.doubt !== null) work.requestRead(productId, verdict.doubt, { atMs: doubtedAtMs(work, after) });
  for (const level of verdict.levels) writeJudgedLevel(work, answer, seen, level);
  writeOrders(work, seen, verdict);
  writeTotal(work, answer, seen, verdict);
  writeRestored(work, answer, seen, verdict);
  const isRenumbered = answer.renamed || verdict.isRedescribed;
  if (isRenumbered) renumberLevels(work, variantId);
  if (verdict.movesBundles) work.noteComponent(after);
  if (verdict.newBundle !== null) work.noteNewBundle(verdict.newBundle);
  const changeSeq = isRenumbered || verdict.isChanged ? work.nextChangeSeq() : after.changeSeq;
  work.tables.putVariant({ ...after, changeSeq });
}

/** The answer may have been received before the delivery that it missed arrived. */
function doubtedAtMs({ input }: UnitOfWork, { eventAtMs }: Variant): number {
  return Math.max(input.atMs, eventAtMs);
}

function writeOrders(work: UnitOfWork, seen: VariantSnapshot, { after, levels }: ShownVariant): void {
  const { variantId } = seen;
  for (const { doubt, warehouseId, before } of levels) {
    const shown = seen.levels?.find((level) => level.warehouseId === warehouseId);
    if (doubt !== 'order' || shown === undefined || before === undefined) continue;
    const values = { variantId, warehouseId, fromQty: before.qty, toQty: shown.availableQty };
    openOrder(work, values, after.productId, doubtedAtMs(work, after));
  }
}

function writeJudgedLevel(
  work: UnitOfWork,
  answer: Answer,
  seen: VariantSnapshot,
  { branch, warehouseId, before, level, overwritten }: LevelVerdict,
): void {
  work.report({ kind: 'level', branch, variantId: seen.variantId, warehouseId });
  if (level === null) return;
  if (overwritten === null) {
    const isRevalued = before?.onHand !== level.onHand || before.reservedQty !== level.reservedQty;
    writeLevel(work, before, isRevalued ? { ...level, changeSeq: work.nextChangeSeq() } : level);
    return;
  }
  const { oldQty } = overwritten;
  const changeSeq = appendRead(work, answer, seen, { before, warehouseId, oldQty, newQty: level.qty });
  writeLevel(work, before, { ...level, changeSeq });
}

/** The feed shows a total's movement only where the levels do not explain it. */
function writeTotal(
  work: UnitOfWork,
  answer: Answer,
  seen: VariantSnapshot,
  { before, total }: ShownVariant,
): void {
  if (total.moved === null) return;
  appendRead(work, answer, seen, { before, warehouseId: null, ...total.moved });
}

function writeRestored(
  work: UnitOfWork,
  answer: Answer,
  seen: VariantSnapshot,
  { restored }: ShownVariant,
): void {
  for (const level of restored) {
    const { warehouseId, qty } = level;
    const changeSeq = appendRead(work, answer, seen, {
      before: level,
      warehouseId,
      oldQty: null,
      newQty: qty,
    });
    writeLevel(work, level, { ...level, goneAtMs: null, missingAtMs: null, changeSeq });
  }
}

interface ReadQty {
  /** The row before the read. */
  readonly before: StockLevel | Variant | undefined;
  /** null for the variant's total. */
  readonly warehouseId: string | null;
  /** null if the row is new or restored. */
  readonly oldQty: number | null;
  readonly newQty: number;
}

/** @returns the number of the feed's row for a quantity that the read set. */
function appendRead(
  work: UnitOfWork,
  answer: Answer,
  seen: VariantSnapshot,
  { before, warehouseId, oldQty, newQty }: ReadQty,
): number {
  const { variantId } = seen;
  const { productId } = answer.product;
  const isRestored = before !== undefined && before.goneAtMs !== null;
  let reason: string = isRestored ? 'restored' : 'first_read';
  if (oldQty !== null) {
    const drift = driftReason(work, answer, seen, { before, warehouseId });
    work.report({ kind: 'drift', reason: drift, productId, variantId, warehouseId, oldQty, newQty });
    // Nothing that arrived and no downtime may explain what a stranger could have guessed.
    noteUntold(work, drift === 'lost_tail' ? answer.claims : [], seen, {
      warehouseId,
      oldQty,
      newQty,
      shownBeforeMs: before?.verifiedAtMs ?? null,
    });
    reason = drift;
  }
  return work.appendChange({
    variantId,
    sku: seen.sku,
    warehouseId,
    oldQty,
    newQty,
    source: 'read',
    reason,
    orderId: null,
    userId: null,
    updateTimeMs: null,
    requestId: answer.requestId,
  });
}

interface Difference {
  readonly warehouseId: string | null;
  readonly oldQty: number;
  readonly newQty: number;
  readonly shownBeforeMs: number | null;
}

/** Every change of own stock comes with a webhook. The earliest that did not counts. */
function noteUntold(
  work: UnitOfWork,
  claims: Answer['claims'],
  seen: VariantSnapshot,
  difference: Difference,
): void {
  const { state, input } = work;
  const isOwn = seen.kind === 'own' || seen.kind === 'assembled';
  // Where warehouses are listed, the total only follows them.
  const isOfStock = difference.warehouseId !== null || seen.levels === null;
  if (state.untold !== null || !isOwn || !isOfStock) return;
  const { variantId } = seen;
  const eventAtMs = work.tables.variant(variantId)?.eventAtMs ?? EARLIEST_MS;
  if (!isUntold(state, { variantId, eventAtMs, ...difference }, claims)) return;
  const { warehouseId, oldQty, newQty } = difference;
  work.state = { ...state, untold: { variantId, warehouseId, oldQty, newQty, shownAtMs: input.atMs } };
}

function driftReason(
  { tables }: UnitOfWork,
  { inDowntime, inConflict }: Answer,
  seen: VariantSnapshot,
  { before, warehouseId }: Pick<ReadQty, 'before' | 'warehouseId'>,
): DriftReason {
  // Without a webhook, it moves with its components.
  if (seen.kind === 'bundle') return 'derived';
  const gaps = tables.gapsOf(seen.variantId);
  const open = gaps.filter((gap) => warehouseId === null || gap.warehouseId === warehouseId);
  const isBroken = open.some(({ kind }) => kind === 'loss');
  // A known contradiction may explain the break.
  if (isBroken && !inConflict) return 'gap';
  if (inDowntime) return 'downtime';
  if ((open.length > 0 && !isBroken) || isOrderUnread(before)) return 'order';
  return inConflict ? 'conflict' : 'lost_tail';
}

/** The last changes have one instant, and no read has shown the level since. */
function isOrderUnread(before: ReadQty['before']): boolean {
  if (before === undefined || !('eventCount' in before)) return false;
  return before.eventCount > 1 && before.eventAtMs > (before.verifiedAtMs ?? EARLIEST_MS);
}
