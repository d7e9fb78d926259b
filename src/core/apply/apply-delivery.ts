/** Writes what the judges decide about the changes of a delivery (merge/judge-change.ts). */
import type { DeliveryInput, StockChange, Unreadable } from '../input.ts';
import { UNREADABLE_PAUSE_MS } from '../limits.ts';
import { asksForRead, judgeChange, type ChangeVerdict } from '../merge/judge-change.ts';
import { unmappedVariant } from '../merge/unknown.ts';
import { isTotalOnly } from '../merge/unlisted-levels.ts';
import { afterWebhook } from '../merge/way-in.ts';
import type { StockLevel } from '../model.ts';
import { raiseBarrier } from './barrier.ts';
import { endOrder, gapsOf, openOrder, writeGap, writeLevel } from './rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export function applyDelivery(work: UnitOfWork, input: DeliveryInput): void {
  work.state = { ...work.state, lastDeliveryAtMs: input.atMs };
  if (!input.isTest) noteWebhook(work);
  for (const change of input.changes) applyChange(work, input, change);
  for (const unreadable of input.unreadable) applyUnreadable(work, input, unreadable);
}

/** A webhook of the store ends every doubt about the way in, and everything is read. */
function noteWebhook(work: UnitOfWork): void {
  const { state, input } = work;
  work.state = { ...state, ...afterWebhook(state, input.atMs) };
  if (state.wayIn !== 'proven') raiseBarrier(work);
}

function applyChange(work: UnitOfWork, input: DeliveryInput, change: StockChange): void {
  const { tables } = work;
  const { variantId, warehouseId } = change;
  const variant = tables.variant(variantId) ?? unmappedVariant(variantId, change.sku);
  const level = tables.stockLevel(variantId, warehouseId);
  const rows = {
    state: work.state,
    variant,
    level,
    gaps: () => gapsOf(work, change, 'loss'),
  };
  const verdict = judgeChange(rows, change, input);
  work.report({ kind: 'change', branch: verdict.branch, variantId, warehouseId });
  writeClocks(work, verdict);
  writeGap(work, verdict.gap);
  writeOrder(work, { input, change, level, verdict });
  writeChange(work, { input, change, level, verdict });
  if (asksForRead(verdict, variant)) work.requestVariantRead(variantId, reasonOf(verdict));
  if (verdict.total !== null && isTotalOnly(variant) && variant.productId !== null) {
    work.requestRead(variant.productId, 'derived');
  }
  work.noteComponent(variant);
}

function reasonOf({ doubts }: ChangeVerdict): 'conflict' | 'derived' {
  return doubts.every((doubt) => doubt === 'perhaps in the total') ? 'derived' : 'conflict';
}

function writeClocks(work: UnitOfWork, { offset, latenessMs, dateContradictions }: ChangeVerdict): void {
  const { offsetWindowStartMs, offsetFloorMs, offsetFloorPreviousMs } = offset;
  work.state = {
    ...work.state,
    offsetWindowStartMs,
    offsetFloorMs,
    offsetFloorPreviousMs,
    latenessMs,
  };
  work.setDateContradictions(dateContradictions);
}

interface JudgedChange {
  readonly input: DeliveryInput;
  readonly change: StockChange;
  readonly level: StockLevel | undefined;
  readonly verdict: ChangeVerdict;
}

function writeOrder(work: UnitOfWork, { input, change, level, verdict }: JudgedChange): void {
  if (verdict.order === 'ended') endOrder(work, change);
  if (verdict.order !== 'opened' || level === undefined) return;
  const { variantId, warehouseId } = change;
  const values = { variantId, warehouseId, fromQty: level.qty, toQty: change.new };
  openOrder(work, values, verdict.variant.productId, input.atMs);
}

/** The feed gets a row for the level, and one for the total if the level does not explain it. */
function writeChange(work: UnitOfWork, { input, change, level: before, verdict }: JudgedChange): void {
  const { level, variant, total } = verdict;
  const shownQty = before?.goneAtMs === null ? before.qty : null;
  const row = {
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
  if (verdict.isApplied && shownQty !== level.qty) {
    changeSeq = work.appendChange({
      ...row,
      warehouseId: change.warehouseId,
      oldQty: shownQty,
      newQty: level.qty,
    });
    writeLevel(work, before, { ...level, changeSeq });
  } else {
    writeLevel(work, before, level);
  }
  if (total !== null && !total.isExplained) {
    changeSeq = work.appendChange({
      ...row,
      warehouseId: null,
      oldQty: total.oldQty,
      newQty: total.newQty,
    });
  }
  work.tables.putVariant(total === null ? variant : { ...variant, changeSeq });
}

function applyUnreadable(work: UnitOfWork, input: DeliveryInput, unreadable: Unreadable): void {
  const { variantId, problem, unknownEvent } = unreadable;
  work.tables.putDeadLetter(input, unreadable);
  work.report({ kind: 'dead_letter', variantId, problem });
  if (variantId !== null) work.requestVariantRead(variantId, 'dead_letter');
  else if (unknownEvent !== true) suspectEverything(work, input);
}

/** The change may concern any variant. Frequent ones only speed up the verification: each barrier costs a full read. */
function suspectEverything(work: UnitOfWork, { atMs }: DeliveryInput): void {
  const { unreadableAtMs } = work.state;
  if (unreadableAtMs !== null && atMs < unreadableAtMs + UNREADABLE_PAUSE_MS) {
    work.report({ kind: 'loss_suspected' });
    return;
  }
  work.state = { ...work.state, unreadableAtMs: atMs };
  raiseBarrier(work);
}
