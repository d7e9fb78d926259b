/**
 * Applies one change to its stock level; branches begin with
 * their rule's number (docs/architecture.md#changes).
 */
import { mayBeSeen, withEvent, withValue, type ChangeContext, type ChangeOutcome } from './change-outcome.ts';
import type { StockChange } from '../input.ts';
import type { StockLevel } from '../model.ts';
import { mergeIntoTombstone } from './tombstone.ts';
import { blankLevel } from './unknown.ts';

export function mergeChange(
  level: StockLevel | undefined,
  change: StockChange,
  context: ChangeContext,
): ChangeOutcome {
  if (level === undefined) return createLevel(change, context);
  const touched: StockLevel = { ...level, eventAtMs: context.atMs };
  if (level.goneAtMs !== null) return mergeIntoTombstone(touched, change, context);
  if (context.futureDated && change.updateTimeMs > level.eventTimeMs) {
    return {
      branch: 'future-dated',
      level: withValue(touched, change, context),
      applied: true,
      requestRead: true,
      gap: null,
    };
  }
  if (change.updateTimeMs < level.eventTimeMs) return mergeStale(touched, change);
  if (change.updateTimeMs === level.eventTimeMs) return mergeSameInstant(touched, change, context);
  return mergeNewer(touched, change, context);
}

/** Rule 1. There is no chain to check, and an unknown level is a reason to read. */
function createLevel(change: StockChange, context: ChangeContext): ChangeOutcome {
  const base: StockLevel = {
    ...blankLevel(change.variantId, change.warehouseId),
    eventAtMs: context.atMs,
  };
  const valued = withValue(base, change, context);
  if (context.variantGoneAtMs !== null) {
    const level: StockLevel = { ...valued, goneAtMs: context.variantGoneAtMs };
    return mergeIntoTombstone(level, change, context);
  }
  return {
    branch: context.futureDated ? 'future-dated' : '1 new level',
    level: context.futureDated ? valued : withEvent(valued, change),
    applied: true,
    requestRead: true,
    gap: null,
  };
}

/** Rule 2. A change that starts from the present value may be newer, if a clock is skewed or was set back. */
function mergeStale(level: StockLevel, change: StockChange): ChangeOutcome {
  const follows = change.old === level.qty && change.new !== level.qty;
  return {
    branch: follows ? '2 stale, yet follows' : '2 stale',
    level,
    applied: false,
    requestRead: follows,
    gap: null,
  };
}

/** Rule 3. Equal times give no order; the chain does if only one order fits it. */
function mergeSameInstant(level: StockLevel, change: StockChange, context: ChangeContext): ChangeOutcome {
  const keep = { level, applied: false, requestRead: false, gap: null };
  if (change.updateTimeMs < context.seenBeforeMs) {
    return { ...keep, branch: '3 seen by the read', requestRead: change.new !== level.qty };
  }
  if (level.eventCount === 1 && change.old === level.eventOld && change.new === level.qty) {
    return { ...keep, branch: '3 duplicate' };
  }
  const counted: StockLevel = { ...level, eventCount: level.eventCount + 1 };
  // The same change again, after a read undid it: do not apply it.
  if (level.eventCount === 1 && change.old === level.eventOld) {
    return { ...keep, branch: '3 order unknown', level: counted, requestRead: true };
  }
  const follows = change.old === level.qty;
  const precedes = change.new === level.eventOld;
  if (follows && !precedes) {
    return {
      branch: '3 follows',
      level: withValue(counted, change, context),
      applied: true,
      // With three or more changes in one instant, a repeated one can look like a successor.
      requestRead: mayBeSeen(level.readHiMs, change, context) || level.eventCount > 1,
      gap: null,
    };
  }
  if (precedes && !follows) {
    return { ...keep, branch: '3 precedes', level: { ...counted, eventOld: change.old } };
  }
  // Neither end fits, or both do (A→B and B→A).
  return { ...keep, branch: '3 order unknown', level: counted, requestRead: true };
}

function mergeNewer(level: StockLevel, change: StockChange, context: ChangeContext): ChangeOutcome {
  const advanced = withEvent(level, change);
  if (change.updateTimeMs < context.seenBeforeMs) {
    return {
      branch: '4a seen by the read',
      level: advanced,
      applied: false,
      requestRead: change.new !== level.qty,
      gap: null,
    };
  }
  if (mayBeSeen(level.readHiMs, change, context)) {
    if (change.new === level.qty) {
      return { branch: '4b confirmed', level: advanced, applied: false, requestRead: false, gap: null };
    }
    // A matching `old` proves nothing: A→B→A looks the same.
    return {
      branch: '4b uncertain',
      level: withValue(advanced, change, context),
      applied: true,
      requestRead: true,
      gap: brokenChain(level, change),
    };
  }
  const gap = brokenChain(level, change);
  return {
    branch: gap === null ? '4c follows' : '4c gap',
    level: withValue(advanced, change, context),
    applied: true,
    requestRead: false,
    gap,
  };
}

function brokenChain(level: StockLevel, change: StockChange): ChangeOutcome['gap'] {
  return change.old === level.qty ? null : { fromQty: level.qty, toQty: change.old };
}
