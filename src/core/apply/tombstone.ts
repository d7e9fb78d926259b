/**
 * What happens to what was removed (docs/architecture.md#removals): a change that names it, and a read that shows it again.
 * A late webhook brings nothing back. How a level comes back by a read is in merge-read.ts, with all other levels.
 */
import { withEvent, withValue, type Arrival, type ChangeOutcome } from '../merge/change-outcome.ts';
import { BY_A_READ } from './drift.ts';
import type { StockChange } from '../input.ts';
import type { UnitOfWork } from './unit-of-work.ts';
import type { StockLevel, Variant } from '../model.ts';
import type { VariantSighting } from './variant-sighting.ts';

/**
 * A read has shown the level since its removal, and came too soon after a change to set it. Where it changes all the time
 * every read does: the next change brings it back.
 */
function isShownSinceRemoval({ goneAtMs, verifiedAtMs }: StockLevel): boolean {
  return goneAtMs !== null && verifiedAtMs !== null && verifiedAtMs > goneAtMs;
}

/** A change that was certainly made after the reads that removed the level. */
function isNewerThanRemoval(
  removed: Pick<StockLevel, 'readHiMs'>,
  change: Pick<StockChange, 'updateTimeMs'>,
  { futureDated, ahead }: { readonly futureDated: boolean; readonly ahead: boolean },
): boolean {
  // A stamp from a clock that is ahead does not say what came after what.
  return !futureDated && !ahead && change.updateTimeMs > removed.readHiMs;
}

/** A late change does not bring a tombstone back. One that the last read may not have seen asks for another read. */
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
    branch: seen ? 'gone, seen by the read' : 'gone, in doubt',
    level: advanced,
    applied: false,
    requestRead: !seen,
    gap: null,
  };
}

/** A removed variant that a change newer than its removal named: the answer of one product is no answer to that. */
export function isBeingLookedUp({ goneAtMs, productId, lookupAtMs }: Variant): boolean {
  return goneAtMs !== null && productId !== null && lookupAtMs !== null;
}

interface LateChange {
  readonly variant: Variant;
  readonly level: StockLevel;
  readonly change: StockChange;
  readonly stamp: { readonly futureDated: boolean; readonly ahead: boolean };
}

/** What is certainly newer than the reads that removed the variant says that it lives: then in another product. */
export function hasMoved(
  { tables }: UnitOfWork,
  { variant: { variantId, goneAtMs }, level, change, stamp }: LateChange,
): boolean {
  if (goneAtMs === null) return false;
  // A warehouse never seen of it has no window of its own.
  const readHiMs = Math.max(
    level.readHiMs,
    ...tables.stockLevelsOf(variantId).map((known) => known.readHiMs),
  );
  return isNewerThanRemoval({ readHiMs }, change, stamp);
}

/**
 * The variant is back, and its reads tell no warehouses: what went with it comes back as it was. As tombstones, the
 * stock levels would refuse every change to come.
 */
export function restoreLevels(
  work: UnitOfWork,
  { variant, requestId }: VariantSighting,
  goneAtMs: number,
): void {
  const { tables } = work;
  for (const level of tables.stockLevelsOf(variant.variantId)) {
    // What had gone before it is not its warehouse any more.
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
