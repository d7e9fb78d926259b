/**
 * How one change applies to its stock level (docs/architecture.md#changes, rules 1 to 4). The outcome's branch
 * carries the rule's number, so that tests and counters can show that each has happened.
 */
import type { StockChange } from './entry.ts';
import { EARLIEST_MS } from './limits.ts';
import type { Cell } from './model.ts';
import { blankCell } from './unknown.ts';
import { isBackByWebhooks, isNewerThanRemoval } from './webhooks-alone.ts';

export const CHANGE_BRANCHES = [
  '1 new cell',
  '2 stale',
  '2 stale, yet follows',
  '3 duplicate',
  '3 seen by the read',
  '3 follows',
  '3 precedes',
  '3 order unknown',
  '4a seen by the read',
  '4b confirmed',
  '4b in doubt',
  '4c follows',
  '4c gap',
  'gone, seen by the read',
  'gone, in doubt',
  'gone, webhooks alone',
  'poison',
] as const;
export type ChangeBranch = (typeof CHANGE_BRANCHES)[number];

export interface ChangeOutcome {
  readonly branch: ChangeBranch;
  readonly cell: Cell;
  /** True when the level is now the change's `new`. */
  readonly applied: boolean;
  /** The product must be read by a read that starts later. */
  readonly oblige: boolean;
  /** The chain broke between these figures: a delivery is late or lost. */
  readonly gap: { readonly fromQty: number; readonly toQty: number } | null;
}

interface Arrival {
  readonly seq: number;
  readonly atMs: number;
  /** See `isPoison` in clock-bounds.ts. */
  readonly poison: boolean;
  /** See `isAhead` in clock-bounds.ts. */
  readonly ahead: boolean;
  /** Store's clock: what is stamped before it was certainly visible to the latest read; see `lowWatermarkMs`. */
  readonly seenBeforeMs: number;
  /** Set when the variant is a tombstone. */
  readonly variantGoneAtMs: number | null;
}

export function mergeChange(cell: Cell | undefined, change: StockChange, arrival: Arrival): ChangeOutcome {
  if (cell === undefined) return createCell(change, arrival);
  const touched: Cell = { ...cell, eventSeq: arrival.seq, eventAtMs: arrival.atMs };
  if (cell.goneAtMs !== null) return mergeIntoTombstone(touched, change, arrival);
  // What is not above the event time cannot advance it: there the order is known.
  if (arrival.poison && change.updateTimeMs > cell.eventTimeMs) {
    return {
      branch: 'poison',
      cell: withValue(touched, change, arrival),
      applied: true,
      oblige: true,
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
    branch: arrival.poison ? 'poison' : '1 new cell',
    cell: arrival.poison ? valued : withEvent(valued, change),
    applied: true,
    oblige: true,
    gap: null,
  };
}

/** A late change does not bring a tombstone back. One that the last read may not have seen asks for another read. */
function mergeIntoTombstone(cell: Cell, change: StockChange, arrival: Arrival): ChangeOutcome {
  const seen = change.updateTimeMs < arrival.seenBeforeMs;
  const advances = !arrival.poison && change.updateTimeMs > cell.eventTimeMs;
  const advanced = advances ? withEvent(cell, change) : cell;
  const isNewer = arrival.variantGoneAtMs === null && isNewerThanRemoval(cell, change, arrival);
  if (isNewer && advances && isBackByWebhooks(cell)) {
    return {
      branch: 'gone, webhooks alone',
      cell: { ...withValue(advanced, change, arrival), goneAtMs: null, missingAtMs: null },
      applied: true,
      oblige: false,
      gap: null,
    };
  }
  return {
    branch: seen ? 'gone, seen by the read' : 'gone, in doubt',
    // Since when reads that do not show the level contradict a change.
    cell: isNewer && cell.missingAtMs === null ? { ...advanced, missingAtMs: arrival.atMs } : advanced,
    applied: false,
    oblige: !seen,
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
    oblige: follows,
    gap: null,
  };
}

/** Rule 3. Equal times order nothing; the chain does, as long as only one order fits it. */
function mergeSameInstant(cell: Cell, change: StockChange, arrival: Arrival): ChangeOutcome {
  const keep = { cell, applied: false, oblige: false, gap: null };
  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return { ...keep, branch: '3 seen by the read', oblige: change.new !== cell.qty };
  }
  if (cell.eventCount === 1 && change.old === cell.eventOld && change.new === cell.qty) {
    return { ...keep, branch: '3 duplicate' };
  }
  const counted: Cell = { ...cell, eventCount: cell.eventCount + 1 };
  // The same again after a read took its effect back: it does not come back with it.
  if (cell.eventCount === 1 && change.old === cell.eventOld) {
    return { ...keep, branch: '3 order unknown', cell: counted, oblige: true };
  }
  const follows = change.old === cell.qty;
  const precedes = change.new === cell.eventOld;
  if (follows && !precedes) {
    return {
      branch: '3 follows',
      cell: withValue(counted, change, arrival),
      applied: true,
      // With three or more changes in one instant a repeated one can pass for a successor.
      oblige: mayBeSeen(cell.readHiMs, change, arrival) || cell.eventCount > 1,
      gap: null,
    };
  }
  if (precedes && !follows) {
    return { ...keep, branch: '3 precedes', cell: { ...counted, eventOld: change.old } };
  }
  // Neither end fits, or both do (A→B beside B→A).
  return { ...keep, branch: '3 order unknown', cell: counted, oblige: true };
}

/** Rule 4. */
function mergeNewer(cell: Cell, change: StockChange, arrival: Arrival): ChangeOutcome {
  const advanced = withEvent(cell, change);
  if (change.updateTimeMs < arrival.seenBeforeMs) {
    return {
      branch: '4a seen by the read',
      cell: advanced,
      applied: false,
      oblige: change.new !== cell.qty,
      gap: null,
    };
  }
  if (mayBeSeen(cell.readHiMs, change, arrival)) {
    if (change.new === cell.qty) {
      return { branch: '4b confirmed', cell: advanced, applied: false, oblige: false, gap: null };
    }
    // A matching `old` proves nothing: A→B→A hides there.
    return {
      branch: '4b in doubt',
      cell: withValue(advanced, change, arrival),
      applied: true,
      oblige: true,
      gap: brokenChain(cell, change),
    };
  }
  const gap = brokenChain(cell, change);
  return {
    branch: gap === null ? '4c follows' : '4c gap',
    cell: withValue(advanced, change, arrival),
    applied: true,
    oblige: false,
    gap,
  };
}

/**
 * The latest read, whose high watermark that is, need not have come before the change. A stamp that is ahead of its own
 * arrival comes from a clock that is wrong by an unknown figure: the change may be older than any read.
 */
export function mayBeSeen(
  hiMs: number,
  change: StockChange,
  { ahead }: { readonly ahead: boolean },
): boolean {
  return change.updateTimeMs <= hiMs || (ahead && hiMs > EARLIEST_MS);
}

function brokenChain(cell: Cell, change: StockChange): ChangeOutcome['gap'] {
  return change.old === cell.qty ? null : { fromQty: cell.qty, toQty: change.old };
}

function withEvent(cell: Cell, change: StockChange): Cell {
  return { ...cell, eventTimeMs: change.updateTimeMs, eventOld: change.old, eventCount: 1 };
}

function withValue(cell: Cell, change: StockChange, arrival: Arrival): Cell {
  return {
    ...cell,
    qty: change.new,
    unexplainedAtMs: null,
    source: 'webhook',
    // A future-dated stamp says nothing about when the value was true; its arrival does.
    asOfMs: arrival.poison ? arrival.atMs : change.updateTimeMs,
  };
}
