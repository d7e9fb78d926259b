/** Removed rows (docs/architecture.md#removals) that changes name, or reads show again (levels: merge-read.ts). */
import { withEvent, withValue, type Arrival, type ChangeOutcome } from '../merge/change-outcome.ts';
import { BY_A_READ } from './drift.ts';
import type { StockChange } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import type { StockLevel, Variant } from '../model.ts';
import type { VariantSighting } from './apply-variant.ts';

/** A read has shown the level since, but too close to a change to set it; with constant changes, every read is. */
function isShownSinceRemoval({ goneAtMs, verifiedAtMs }: StockLevel): boolean {
  return goneAtMs !== null && verifiedAtMs !== null && verifiedAtMs > goneAtMs;
}

function isNewerThanRemoval(
  removed: Pick<StockLevel, 'readHiMs'>,
  change: Pick<StockChange, 'updateTimeMs'>,
  { futureDated, ahead }: { readonly futureDated: boolean; readonly ahead: boolean },
): boolean {
  // A stamp from a clock that is ahead gives no order.
  return !futureDated && !ahead && change.updateTimeMs > removed.readHiMs;
}

/** A late change does not restore a tombstone. One that the last read may not have seen requests another read. */
export function mergeIntoTombstone(level: StockLevel, change: StockChange, arrival: Arrival): ChangeOutcome {
  const seen = change.updateTimeMs < arrival.seenBeforeMs;
  const advances = !arrival.futureDated && change.updateTimeMs > level.eventTimeMs;
  const advanced = advances ? withEvent(level, change) : level;
  const isNewer = arrival.variantGoneAtMs === null && isNewerThanRemoval(level, change, arrival);
  const isShown = isShownSinceRemoval(level);
  if (isNewer && advances && isShown) {
    return {
      branch: 'gone, shown again',
      level: {
        ...withValue(advanced, change, arrival),
        goneAtMs: null,
        missingAtMs: null,
        verifiedAtMs: null,
      },
      applied: true,
      requestRead: true,
      gap: null,
    };
  }
  return {
    branch: seen ? 'gone, seen by the read' : 'gone, uncertain',
    level: advanced,
    applied: false,
    requestRead: !seen,
    gap: null,
  };
}

/** A change newer than the removal named it, so reading its old product cannot settle that. */
export function isBeingLookedUp({ goneAtMs, productId, lookupAtMs }: Variant): boolean {
  return goneAtMs !== null && productId !== null && lookupAtMs !== null;
}

interface LateChange {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly change: StockChange;
  readonly stamp: { readonly futureDated: boolean; readonly ahead: boolean };
}

/** A change certainly newer than the removal shows that the variant lives, in another product. */
export function hasMoved(
  { tables }: UnitOfWork,
  { variant: { variantId, goneAtMs }, level, change, stamp }: LateChange,
): boolean {
  if (goneAtMs === null) return false;
  // A new warehouse has no window: use the other levels' windows.
  const readHiMs = Math.max(
    level.readHiMs,
    ...tables.stockLevelsOf(variantId).map((known) => known.readHiMs),
  );
  return isNewerThanRemoval({ readHiMs }, change, stamp);
}

/** For a variant shown again without warehouses: as tombstones, its levels would reject every further change. */
export function restoreLevels(
  work: UnitOfWork,
  { variant, requestId }: VariantSighting,
  goneAtMs: number,
): void {
  const { tables } = work;
  for (const level of tables.stockLevelsOf(variant.variantId)) {
    if (level.goneAtMs === null || level.goneAtMs < goneAtMs) continue;
    const changeSeq = work.appendChange({
      variantId: variant.variantId,
      warehouseId: level.warehouseId,
      sku: variant.sku,
      oldQty: null,
      newQty: level.qty,
      ...BY_A_READ,
      reason: 'restored',
      requestId,
    });
    tables.putStockLevel({ ...level, goneAtMs: null, missingAtMs: null, changeSeq });
  }
}
