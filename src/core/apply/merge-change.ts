/**
 * How one change applies to its stock level (docs/architecture.md#changes, rules 1 to 4). The outcome's branch
 * carries the rule's number, so that tests and counters can show that each has happened.
 */
import {
  mayBeSeen,
  withEvent,
  withValue,
  type Arrival,
  type ChangeOutcome,
} from '../merge/change-outcome.ts';
import type { StockChange } from '../entry.ts';
import type { Cell } from '../model.ts';
import { mergeIntoTombstone } from './tombstone.ts';
import { blankCell } from '../merge/unknown.ts';

export function mergeChange(cell: Cell | undefined, change: StockChange, arrival: Arrival): ChangeOutcome {
  if (cell === undefined) return createCell(change, arrival);
  const touched: Cell = { ...cell, eventSeq: arrival.seq, eventAtMs: arrival.atMs };
  if (cell.goneAtMs !== null) return mergeIntoTombstone(touched, change, arrival);
  // What is not above the event time cannot advance it: there the order is known.
  if (arrival.futureDated && change.updateTimeMs > cell.eventTimeMs) {
    return {
      branch: 'poison',
      cell: withValue(touched, change, arrival),
      applied: true,
      requestRead: true,
      gap: null,
    };
  }
  if (change.updateTimeMs < cell.eventTimeMs) return mergeStale(touched, change);
  if (change.updateTimeMs === cell.eventTimeMs) return mergeSameInstant(touched, change, arrival);
  return mergeNewer(touched, change, arrival);
}

/** Rule 1. Nothing older is known, so there is no chain to check. An unknown level is itself a reason to read. */
function createCell(change: StockChange, arrival: Arrival): ChangeOutcome {
  const base: Cell = {
    ...blankCell(change.variantId, change.warehouseId),
    eventSeq: arrival.seq,
    eventAtMs: arrival.atMs,
  };
  const valued = withValue(base, change, arrival);
  if (arrival.variantGoneAtMs !== null) {
    const cell: Cell = { ...valued, goneAtMs: arrival.variantGoneAtMs };
    return mergeIntoTombstone(cell, change, arrival);
  }
  return {
    branch: arrival.futureDated ? 'poison' : '1 new cell',
    cell: arrival.futureDated ? valued : withEvent(valued, change),
    applied: true,
    requestRead: true,
    gap: null,
  };
}

/**
 * Rule 2. A change that starts exactly from the present value may be the newer one under a skewed clock. Its time does
 * not speak against that, not even when the last read lies between: the store's clock may have been set back.
 */
function mergeStale(cell: Cell, change: StockChange): ChangeOutcome {
  const follows = change.old === cell.qty && change.new !== cell.qty;
  return {
    branch: follows ? '2 stale, yet follows' : '2 stale',
    cell,
    applied: false,
    requestRead: follows,
    gap: null,
  };
}

/** Rule 3. Equal times order nothing; the chain does, as long as only one order fits it. */
function mergeSameInstant(cell: Cell, change: StockChange, arrival: Arrival): ChangeOutcome {
  const keep = { cell, applied: false, requestRead: false, gap: null };
  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return { ...keep, branch: '3 seen by the read', requestRead: change.new !== cell.qty };
  }
  if (cell.eventCount === 1 && change.old === cell.eventOld && change.new === cell.qty) {
    return { ...keep, branch: '3 duplicate' };
  }
  const counted: Cell = { ...cell, eventCount: cell.eventCount + 1 };
  // The same again after a read took its effect back: it does not come back with it.
  if (cell.eventCount === 1 && change.old === cell.eventOld) {
    return { ...keep, branch: '3 order unknown', cell: counted, requestRead: true };
  }
  const follows = change.old === cell.qty;
  const precedes = change.new === cell.eventOld;
  if (follows && !precedes) {
    return {
      branch: '3 follows',
      cell: withValue(counted, change, arrival),
      applied: true,
      // With three or more changes in one instant a repeated one can pass for a successor.
      requestRead: mayBeSeen(cell.readHiMs, change, arrival) || cell.eventCount > 1,
      gap: null,
    };
  }
  if (precedes && !follows) {
    return { ...keep, branch: '3 precedes', cell: { ...counted, eventOld: change.old } };
  }
  // Neither end fits, or both do (A→B beside B→A).
  return { ...keep, branch: '3 order unknown', cell: counted, requestRead: true };
}

/** Rule 4. */
function mergeNewer(cell: Cell, change: StockChange, arrival: Arrival): ChangeOutcome {
  const advanced = withEvent(cell, change);
  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return {
      branch: '4a seen by the read',
      cell: advanced,
      applied: false,
      requestRead: change.new !== cell.qty,
      gap: null,
    };
  }
  if (mayBeSeen(cell.readHiMs, change, arrival)) {
    if (change.new === cell.qty) {
      return { branch: '4b confirmed', cell: advanced, applied: false, requestRead: false, gap: null };
    }
    // A matching `old` proves nothing: A→B→A hides there.
    return {
      branch: '4b in doubt',
      cell: withValue(advanced, change, arrival),
      applied: true,
      requestRead: true,
      gap: brokenChain(cell, change),
    };
  }
  const gap = brokenChain(cell, change);
  return {
    branch: gap === null ? '4c follows' : '4c gap',
    cell: withValue(advanced, change, arrival),
    applied: true,
    requestRead: false,
    gap,
  };
}

function brokenChain(cell: Cell, change: StockChange): ChangeOutcome['gap'] {
  return change.old === cell.qty ? null : { fromQty: cell.qty, toQty: change.old };
}
