/**
 * Levels that webhooks name and no detail shows (docs/architecture.md#levels-that-webhooks-alone-tell). The two
 * contradict each other, and no further read can decide between them. Without an end, each webhook would ask for a read.
 */
import type { ChangeOutcome } from '../merge/change-outcome.ts';
import type { DeliveryEntry, StockChange } from '../entry.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import { CONTESTED_READS, REPLICA_LAG_MS, WEBHOOKS_ALONE_MS } from '../limits.ts';
import type { ReadContext } from '../merge/merge-read.ts';
import type { StockLevel } from '../model.ts';

/** Known as such: kept, suspect, and read about no more. */
export function isToldByWebhooksAlone(level: StockLevel): boolean {
  return level.goneAtMs === null && level.unseenReads >= CONTESTED_READS;
}

/** Webhooks have fallen silent about it: what reads say, they say alone now. */
export function isForgotten(level: StockLevel, read: ReadContext): boolean {
  return read.sentAtMs >= level.eventAtMs + WEBHOOKS_ALONE_MS;
}

/**
 * A read does not show a level that a newer change names, and comes too soon after a delivery to say that the level is
 * gone. A replica's lag explains that once, not for half a minute.
 */
export function contestedOnceMore(level: StockLevel): StockLevel {
  return { ...level, unseenReads: level.unseenReads + 1 };
}

/** A removed level: a change of it that was certainly made after the reads that removed it. */
export function isNewerThanRemoval(
  removed: Pick<StockLevel, 'readHiMs'>,
  change: Pick<StockChange, 'updateTimeMs'>,
  { futureDated, ahead }: { readonly futureDated: boolean; readonly ahead: boolean },
): boolean {
  // A stamp from a clock that is ahead does not say what came after what.
  return !futureDated && !ahead && change.updateTimeMs > removed.readHiMs;
}

/** It has come back in a change twice, and each time the read that followed did not show it. */
export function isBackByWebhooks(removed: StockLevel): boolean {
  return removed.unseenReads >= CONTESTED_READS;
}

/**
 * The read that follows a change of a removed level does not show it either. The second such read ends the asking: the
 * next change brings the level back.
 */
export function unseenAgain(removed: StockLevel, read: ReadContext): StockLevel {
  const named = removed.missingAtMs;
  if (named === null || read.superseded || read.sentAtMs < named + REPLICA_LAG_MS) return removed;
  return {
    ...removed,
    missingAtMs: null,
    unseenReads: removed.unseenReads === 0 ? 1 : CONTESTED_READS,
    readLoMs: Math.max(removed.readLoMs, read.loMs),
    readHiMs: Math.max(removed.readHiMs, read.hiMs),
  };
}

/** A read does not show the level, and a change newer than the read speaks against that. */
export function contestLevel(
  work: UnitOfWork,
  productId: string,
  level: StockLevel,
  read: ReadContext,
): void {
  if (read.superseded) {
    work.requestRead(productId, 'conflict');
    return;
  }
  const contested = contestedOnceMore(level);
  if (!isToldByWebhooksAlone(contested)) {
    work.tables.putStockLevel(contested);
    work.requestRead(productId, 'conflict');
    return;
  }
  const { variantId, warehouseId } = level;
  work.report({ kind: 'webhooks_alone', variantId, warehouseId });
  const changeSeq = work.nextChangeSeq();
  work.tables.putStockLevel({ ...contested, missingAtMs: null, unexplainedAtMs: work.entry.atMs, changeSeq });
}

interface UnlistedChange {
  readonly entry: DeliveryEntry;
  readonly change: StockChange;
  readonly before: StockLevel | undefined;
  readonly outcome: ChangeOutcome;
}

/**
 * A level that no read tells. Neither does the total, which is the sum of what reads tell: it is not touched, so that a
 * level which changes all the time does not keep reads from telling the total.
 */
export function applyUnlisted(
  work: UnitOfWork,
  { entry, change, before, outcome: { level, applied, branch } }: UnlistedChange,
): void {
  const { variantId, warehouseId, reason, orderId, userId, updateTimeMs } = change;
  const suspect: StockLevel = { ...level, unexplainedAtMs: entry.atMs };
  const oldQty = before === undefined || before.goneAtMs !== null ? null : before.qty;
  if (branch === 'gone, webhooks alone') {
    work.report({ kind: 'webhooks_alone', variantId, warehouseId });
  }
  if (!applied || oldQty === level.qty) {
    work.tables.putStockLevel(suspect);
    return;
  }
  const changeSeq = work.appendChange({
    variantId,
    warehouseId,
    sku: work.tables.variant(variantId)?.sku ?? change.sku,
    oldQty,
    newQty: level.qty,
    source: 'webhook',
    reason,
    orderId,
    userId,
    updateTimeMs,
    requestId: entry.requestId,
  });
  work.tables.putStockLevel({ ...suspect, changeSeq });
}
