/** Changes that name removed rows (docs/architecture.md#removals). Reads that show them: merge-read.ts. */
import type { StockChange } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { StockLevel, Variant } from '../model.ts';
import { withEvent, withValue, type ChangeContext, type ChangeOutcome } from './change-outcome.ts';

/**
 * A read has shown the level since, but too close to a change
 * to set it; with constant changes, every read is.
 */
function isShownSinceRemoval({ goneAtMs, verifiedAtMs }: StockLevel): boolean {
  return goneAtMs !== null && (verifiedAtMs ?? EARLIEST_MS) > goneAtMs;
}

type Stamp = Pick<ChangeContext, 'futureDated' | 'ahead'>;

function isNewerThanRemoval(
  removed: Pick<StockLevel, 'readHiMs'>,
  change: Pick<StockChange, 'updateTimeMs'>,
  { futureDated, ahead }: Stamp,
): boolean {
  // A stamp from a clock that is ahead gives no order.
  return !futureDated && !ahead && change.updateTimeMs > removed.readHiMs;
}

/**
 * A late change does not restore a tombstone. One that the
 * last read may not have seen requests another read.
 */
export function mergeIntoTombstone(
  level: StockLevel,
  change: StockChange,
  context: ChangeContext,
): ChangeOutcome {
  const seen = change.updateTimeMs < context.seenBeforeMs;
  const advances = !context.futureDated && change.updateTimeMs > level.eventTimeMs;
  const advanced = advances ? withEvent(level, change) : level;
  const isNewer = context.variantGoneAtMs === null && isNewerThanRemoval(level, change, context);
  // No read will ever show a level of a variant whose details omit warehouses.
  const isShown = isShownSinceRemoval(level) || context.isNeverListed;
  if (isNewer && advances && isShown) {
    return {
      branch: 'gone, shown again',
      level: {
        ...withValue(advanced, change, context),
        goneAtMs: null,
        missingAtMs: null,
        verifiedAtMs: null,
        onHand: null,
        reservedQty: null,
        onHandAsOfMs: null,
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

/**
 * A change certainly newer than the removal shows that the variant lives, in another product.
 * @param levels all levels that the variant had, because a level in a new warehouse has no read of its own.
 */
export function hasMoved(
  variant: Variant,
  levels: () => readonly StockLevel[],
  change: StockChange,
  stamp: Stamp,
): boolean {
  if (variant.goneAtMs === null) return false;
  const readHiMs = Math.max(...levels().map((level) => level.readHiMs));
  return isNewerThanRemoval({ readHiMs }, change, stamp);
}
