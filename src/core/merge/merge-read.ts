/**
 * How one product read applies to a stock level or a total (docs/architecture.md#reads): it never overwrites a
 * change that it may not have seen, and what it overwrites it says.
 */
import type { LevelSnapshot } from '../input.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import type { StockLevel } from '../model.ts';
import { blankLevel } from './unknown.ts';

export interface ReadContext {
  /** Last log position known when the request was sent. */
  readonly s0: number;
  readonly sentAtMs: number;
  /** Service's clock, from `readWindow`. */
  readonly loMs: number;
  readonly hiMs: number;
  /** A read of the same product that was sent later has been merged already. */
  readonly superseded: boolean;
  /**
   * An answer about the same product that has been merged was received less than a replica's lag before this read was
   * sent. Which of the two shows more is unknown: the order of sending proves nothing.
   */
  readonly overlaps: boolean;
}

/** The read may not have seen the last delivery that touched this: it arrived after `s0`, or too little before. */
export function isConcurrent(
  touched: { readonly eventSeq: number; readonly eventAtMs: number },
  read: ReadContext,
): boolean {
  return read.superseded || touched.eventSeq > read.s0 || read.sentAtMs < touched.eventAtMs + REPLICA_LAG_MS;
}

export const LEVEL_BRANCHES = [
  'new level',
  'superseded, unknown level',
  'concurrent, agrees',
  'concurrent, differs',
  'dominated, agrees',
  'dominated, drift',
  'dominated, back from the dead',
] as const;
export type LevelBranch = (typeof LEVEL_BRANCHES)[number];

export interface LevelOutcome {
  readonly branch: LevelBranch;
  /** Null: nothing to write. */
  readonly level: StockLevel | null;
  /** What the mirror held, when the value was overwritten; null for a new or returning level. */
  readonly overwritten: { readonly oldQty: number | null } | null;
  readonly requestRead: boolean;
}

export function mergeLevel(
  level: StockLevel | undefined,
  variantId: string,
  seen: LevelSnapshot,
  read: ReadContext,
): LevelOutcome {
  if (level === undefined) {
    if (read.superseded) {
      return { branch: 'superseded, unknown level', level: null, overwritten: null, requestRead: true };
    }
    const blank: StockLevel = {
      ...blankLevel(variantId, seen.warehouseId),
      source: 'read',
      asOfMs: read.sentAtMs,
    };
    const fresh = dominate(blank, seen, read);
    return { branch: 'new level', level: fresh, overwritten: { oldQty: null }, requestRead: false };
  }
  if (isConcurrent(level, read)) {
    const agrees = level.goneAtMs === null && level.qty === seen.availableQty;
    const shown: StockLevel = { ...level, missingAtMs: missingAfter(level, read) };
    const isShownAgain = level.goneAtMs !== null && !read.superseded;
    return {
      branch: agrees ? 'concurrent, agrees' : 'concurrent, differs',
      level: agrees
        ? agreed(level, seen, read)
        : isShownAgain
          ? { ...shown, verifiedAtMs: read.sentAtMs }
          : shown,
      overwritten: null,
      requestRead: !agrees,
    };
  }
  const merged = dominate(level, seen, read);
  if (level.goneAtMs !== null) {
    return {
      branch: 'dominated, back from the dead',
      level: merged,
      overwritten: { oldQty: null },
      requestRead: false,
    };
  }
  const drift = level.qty !== seen.availableQty;
  return {
    branch: drift ? 'dominated, drift' : 'dominated, agrees',
    level: merged,
    overwritten: drift ? { oldQty: level.qty } : null,
    requestRead: false,
  };
}

/** The read's figures become the level's; its event time stays, so that stragglers are still distinguished from news. */
function dominate(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  const changed = level.goneAtMs !== null || level.qty !== seen.availableQty;
  return {
    ...withOnHand(level, seen, read),
    qty: seen.availableQty,
    source: changed ? 'read' : level.source,
    asOfMs: changed ? read.sentAtMs : level.asOfMs,
    // A later read cannot have seen less: a low watermark above all that it can have seen came from a wrong clock.
    readLoMs: level.readLoMs > read.hiMs ? read.loMs : Math.max(level.readLoMs, read.loMs),
    readHiMs: read.hiMs,
    verifiedAtMs: read.sentAtMs,
    missingAtMs: null,
    unexplainedAtMs: null,
    goneAtMs: null,
  };
}

/**
 * A concurrent read that shows what the mirror holds. Either of them may have seen more than the other, so a change
 * within the read's window that arrives later asks for a read, as after any read; below it, nothing becomes certain.
 */
function agreed(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  return {
    ...withOnHand(level, seen, read),
    readHiMs: Math.max(level.readHiMs, read.hiMs),
    verifiedAtMs: level.verifiedAtMs === null ? read.sentAtMs : Math.max(level.verifiedAtMs, read.sentAtMs),
    missingAtMs: missingAfter(level, read),
  };
}

/** It is shown: unless it was a later read that missed it, the wait for its removal begins again. */
function missingAfter(level: StockLevel, read: ReadContext): number | null {
  return read.superseded ? level.missingAtMs : null;
}

/** Webhooks never carry these two figures, so even a concurrent read is their newest source. */
function withOnHand(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  if (read.superseded) return level;
  return { ...level, onHand: seen.onHand, reservedQty: seen.reservedQty, onHandAsOfMs: read.sentAtMs };
}
