/** Applies a read to a level or total; never overwrites a change it may not have seen (docs/architecture.md#reads). */
import type { LevelSnapshot } from '../input.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import type { StockLevel } from '../model.ts';
import { blankLevel } from './unknown.ts';

export interface ReadContext {
  readonly sentAtMs: number;
  /** Store time, from `readWindow`. */
  readonly loMs: number;
  readonly hiMs: number;
  /** A read of the same product that was sent later is already merged. */
  readonly superseded: boolean;
  /** Sent less than a replica's lag after another merged answer was received: which of the two is newer is unknown. */
  readonly overlaps: boolean;
}

/** The read may have missed the last delivery that touched this: it was not sent a replica's lag after its arrival. */
export function isConcurrent(touched: { readonly eventAtMs: number }, read: ReadContext): boolean {
  return read.superseded || read.sentAtMs < touched.eventAtMs + REPLICA_LAG_MS;
}

export const LEVEL_BRANCHES = [
  'new level',
  'superseded, unknown level',
  'concurrent, agrees',
  'concurrent, differs',
  'dominated, agrees',
  'dominated, drift',
  'dominated, restored',
] as const;
export type LevelBranch = (typeof LEVEL_BRANCHES)[number];

export interface LevelOutcome {
  readonly branch: LevelBranch;
  readonly level: StockLevel | null;
  /** The overwritten value; `oldQty` is null if the level is new or restored. */
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
      branch: 'dominated, restored',
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

/** Sets the level to the read's values. The event time stays, so that late changes are still recognised. */
function dominate(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  const changed = level.goneAtMs !== null || level.qty !== seen.availableQty;
  return {
    ...withOnHand(level, seen, read),
    qty: seen.availableQty,
    source: changed ? 'read' : level.source,
    asOfMs: changed ? read.sentAtMs : level.asOfMs,
    // A later read cannot have seen less, so a low watermark above this read's window came from a wrong clock.
    readLoMs: level.readLoMs > read.hiMs ? read.loMs : Math.max(level.readLoMs, read.loMs),
    readHiMs: read.hiMs,
    verifiedAtMs: read.sentAtMs,
    missingAtMs: null,
    unexplainedAtMs: null,
    goneAtMs: null,
  };
}

/** Either side may have seen more, so a later change within the read's window still requests a read. */
function agreed(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  return {
    ...withOnHand(level, seen, read),
    readHiMs: Math.max(level.readHiMs, read.hiMs),
    verifiedAtMs: level.verifiedAtMs === null ? read.sentAtMs : Math.max(level.verifiedAtMs, read.sentAtMs),
    missingAtMs: missingAfter(level, read),
  };
}

/** A level that is shown again restarts the wait for its removal, unless a later read missed it. */
function missingAfter(level: StockLevel, read: ReadContext): number | null {
  return read.superseded ? level.missingAtMs : null;
}

/** Webhooks carry neither value, so even a concurrent read is their newest source. */
function withOnHand(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  if (read.superseded) return level;
  return { ...level, onHand: seen.onHand, reservedQty: seen.reservedQty, onHandAsOfMs: read.sentAtMs };
}
