import {
  isAhead,
  isFutureDated,
  lowWatermarkMs,
  observeArrival,
  offsetFloorMs,
  weighDate,
} from '../merge/clock-bounds.ts';
import type { ChangeBranch } from '../merge/change-outcome.ts';
import type { DeliveryInput, StockChange, Unreadable } from '../input.ts';
import { noteComponent } from './apply-total.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import {
  EARLIEST_MS,
  GAP_GRACE_MAX_MS,
  GAP_GRACE_MIN_MS,
  GAPS_OF_A_LEVEL,
  MOVED_LOOKUP_MS,
} from '../limits.ts';
import { mergeChange } from './merge-change.ts';
import type { StockLevel, Gap, Variant } from '../model.ts';
import { hasMoved, isBeingLookedUp } from './tombstone.ts';
import { unmappedVariant } from '../merge/unknown.ts';
import { isInTotal, leavesLevelOpen, mayBeInTotal } from './unlisted-levels.ts';

export function applyDelivery(work: UnitOfWork, input: DeliveryInput): void {
  work.state = { ...work.state, lastDeliveryAtMs: input.atMs };
  for (const change of input.changes) applyChange(work, input, change);
  for (const unreadable of input.unreadable) applyUnreadable(work, input, unreadable);
}

const OUT_OF_ORDER: ReadonlySet<ChangeBranch> = new Set(['2 stale', '2 stale, yet follows', '3 precedes']);

function applyChange(work: UnitOfWork, input: DeliveryInput, change: StockChange): void {
  const { tables } = work;
  const futureDated = isFutureDated(change.updateTimeMs, input.atMs, work.state);
  const ahead = isAhead(change.updateTimeMs, input.atMs, work.state);
  // A clock that is ahead says nothing about the other nodes' clocks.
  if (!futureDated && !ahead) {
    const floor = observeArrival(work.state, change.updateTimeMs, input.atMs);
    if (floor !== work.state) work.state = { ...work.state, ...floor };
  }
  const variant = tables.variant(change.variantId) ?? unmappedVariant(change.variantId, change.sku);
  const before = tables.stockLevel(change.variantId, change.warehouseId);
  const outcome = mergeChange(before, change, {
    atMs: input.atMs,
    futureDated,
    ahead,
    seenBeforeMs: before === undefined ? EARLIEST_MS : lowWatermarkMs(before, work.state),
    variantGoneAtMs: variant.goneAtMs,
  });
  if (before !== undefined && outcome.branch === '4a seen by the read' && !ahead) {
    work.setDateContradictions(weighDate(work.state, before, change, input.atMs).dateContradictions);
  }
  work.report({
    kind: 'change',
    branch: outcome.branch,
    variantId: change.variantId,
    warehouseId: change.warehouseId,
  });

  let next: Variant = { ...variant, eventAtMs: input.atMs };
  const { branch, gap } = outcome;
  const isOutOfOrder = OUT_OF_ORDER.has(branch);
  const movesTotal = outcome.applied || isOutOfOrder;
  let requestRead = outcome.requestRead || (movesTotal && mayBeInTotal(variant, change, { ahead }));
  // The total may include any part of such a break; an apparent duplicate may be another change, which it lacks.
  const isOpen = before !== undefined && before.unexplainedAtMs !== null;
  if (isOpen && (gap !== null || branch === '3 duplicate')) requestRead = true;
  if (gap !== null) requestRead = openGap(work, input, change, gap) || requestRead;
  else if (isOutOfOrder) requestRead = fillGaps(work, change, outcome.level) || requestRead;
  // The catalogue is being searched for a variant whose old product was already read.
  if (requestRead && !isBeingLookedUp(variant)) next = work.requestVariantRead(next, 'conflict');
  if (
    branch === 'gone, uncertain' &&
    hasMoved(work, { variant, level: outcome.level, change, stamp: { futureDated, ahead } })
  ) {
    next = { ...next, lookupAtMs: next.lookupAtMs ?? input.atMs + MOVED_LOOKUP_MS };
  }
  const level =
    leavesLevelOpen(variant, outcome) || (isOpen && mayBeInTotal(variant, change, { ahead }))
      ? { ...outcome.level, unexplainedAtMs: input.atMs }
      : outcome.level;
  if (outcome.applied) next = applyValue(work, { input, change, before, level, variant: next });
  else tables.putStockLevel(level);
  tables.putVariant(next);
}

interface AppliedChange {
  readonly input: DeliveryInput;
  readonly change: StockChange;
  readonly before: StockLevel | undefined;
  readonly level: StockLevel;
  readonly variant: Variant;
}

function applyValue(work: UnitOfWork, { input, change, before, level, variant }: AppliedChange): Variant {
  const { tables } = work;
  const common = {
    variantId: change.variantId,
    sku: variant.sku,
    source: 'webhook',
    reason: change.reason,
    orderId: change.orderId,
    userId: change.userId,
    updateTimeMs: change.updateTimeMs,
    requestId: input.requestId,
  } as const;
  let { changeSeq } = variant;
  // A restored level is a new row.
  const shown = before?.goneAtMs === null ? before : undefined;
  if (shown?.qty === level.qty) {
    tables.putStockLevel(level);
  } else {
    changeSeq = work.appendChange({
      ...common,
      warehouseId: change.warehouseId,
      oldQty: shown?.qty ?? null,
      newQty: level.qty,
    });
    tables.putStockLevel({ ...level, changeSeq });
  }

  // The total already includes a new level's `old`, and a loss that a read showed only in the total.
  const held = shown === undefined || isInTotal(shown) ? change.old : shown.qty;
  const deltaQty = level.qty - held;
  const total = variant.availableQty;
  if (total === null || (deltaQty === 0 && shown?.qty === level.qty)) return variant;
  if (deltaQty !== 0 && deltaQty !== level.qty - (shown?.qty ?? 0)) {
    changeSeq = work.appendChange({
      ...common,
      warehouseId: null,
      oldQty: total,
      newQty: total + deltaQty,
    });
  }
  if (variant.kind !== 'own' && variant.productId !== null) work.requestRead(variant.productId, 'derived');
  noteComponent(work, variant);
  return { ...variant, availableQty: total + deltaQty, asOfMs: level.asOfMs, changeSeq };
}

/** @returns true if the product must be read too: one body broke the chain twice, or the level has too many gaps. */
function openGap(
  work: UnitOfWork,
  input: DeliveryInput,
  change: StockChange,
  gap: { readonly fromQty: number; readonly toQty: number },
): boolean {
  const { tables } = work;
  const opened = {
    variantId: change.variantId,
    warehouseId: change.warehouseId,
    inboxSeq: input.inboxSeq,
    openedAtMs: input.atMs,
    dueAtMs: input.atMs + gapGraceMs(work.state.latenessMs),
    ...gap,
  };
  const open = openGapsOf(work, change);
  if (open.length >= GAPS_OF_A_LEVEL || open.some(({ inboxSeq }) => inboxSeq === input.inboxSeq)) return true;
  tables.putGap(opened);
  work.report({ kind: 'gap_opened', gap: opened });
  return false;
}

/** @returns true if the product must be read: no gap fits, and another delivery is missing or the stamps mislead. */
function fillGaps(work: UnitOfWork, change: StockChange, level: StockLevel): boolean {
  const { tables, input } = work;
  const floorMs = offsetFloorMs(work.state);
  if (floorMs !== null) {
    const lateMs = Math.max(0, input.atMs + floorMs - change.updateTimeMs);
    work.state = { ...work.state, latenessMs: observeLateness(work.state.latenessMs, lateMs) };
  }
  const gaps = openGapsOf(work, change);
  const closed = gaps.find(({ fromQty, toQty }) => fromQty === change.old && toQty === change.new);
  if (closed !== undefined) {
    tables.deleteGap(closed);
    work.report({ kind: 'gap_closed', gap: closed });
    return false;
  }
  // A change in the middle of a longer break cannot be placed.
  const narrowed = gaps.find(({ fromQty, toQty }) => fromQty === change.old || toQty === change.new);
  if (narrowed !== undefined) {
    const isStart = narrowed.fromQty === change.old;
    tables.putGap({ ...narrowed, ...(isStart ? { fromQty: change.new } : { toQty: change.old }) });
    return false;
  }
  // A difference counts below the low watermark too: once the store's clock is set back, new changes have older stamps.
  return change.new !== level.qty || change.updateTimeMs >= level.readLoMs;
}

function openGapsOf(work: UnitOfWork, { variantId, warehouseId }: StockChange): Gap[] {
  return work.tables.gapsOf(variantId).filter((gap) => gap.warehouseId === warehouseId);
}

function applyUnreadable(work: UnitOfWork, input: DeliveryInput, unreadable: Unreadable): void {
  const { tables } = work;
  tables.putDeadLetter(input, unreadable);
  work.report({
    kind: 'dead_letter',
    variantId: unreadable.variantId,
    problem: unreadable.problem,
  });
  if (unreadable.variantId !== null) {
    const variant = tables.variant(unreadable.variantId) ?? unmappedVariant(unreadable.variantId, null);
    tables.putVariant(work.requestVariantRead(variant, 'dead_letter'));
    return;
  }
  if (unreadable.unknownEvent !== true) work.report({ kind: 'loss_suspected' });
}

export function gapGraceMs(latenessMs: number): number {
  return Math.round(Math.min(GAP_GRACE_MAX_MS, Math.max(GAP_GRACE_MIN_MS, 2 * latenessMs)));
}

/** Rises at once with a later change, falls slowly with prompter ones. */
export function observeLateness(latenessMs: number, observedMs: number): number {
  return Math.max(0, Math.round(Math.max(observedMs, latenessMs + (observedMs - latenessMs) / 10)));
}
