/** Changes that name removed rows (docs/architecture.md#removals). Reads that show them: merge-read.ts. */
import type { StockChange } from '../input.ts';
import { EARLIEST_MS } from '../limits.ts';
import type { StockLevel } from '../model.ts';
import { withEvent, withValue, type ChangeContext, type ChangeOutcome } from './change-outcome.ts';

/**
 * A read has shown the level since, but too close to a change
 * to set it; with constant changes, every read is.
 */
function isShownSinceRemoval({ goneAtMs, verifiedAtMs }: StockLevel): boolean {
  return goneAtMs !== null && (verifiedAtMs ?? EARLIEST_MS) > goneAtMs;
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
  // A stamp from a clock that is ahead gives no order.
  const isNewer =
    context.variantGoneAtMs === null &&
    !context.futureDated &&
    !context.ahead &&
    change.updateTimeMs > level.readHiMs;
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
