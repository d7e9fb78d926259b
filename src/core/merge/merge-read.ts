/**
 * Applies a read to a level or total; never overwrites a
 * change it may not have seen (docs/architecture.md#reads).
 */
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
  /**
   * Sent less than a replica's lag after another merged answer
   * was received: which of the two is newer is unknown.
   */
  readonly overlaps: boolean;
}

/**
 * The read may have missed the last delivery that touched
 * this: it was not sent a replica's lag after its arrival.
 */
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

export interface LevelVerdict {
  readonly branch: LevelBranch;
  readonly warehouseId: string;
  readonly before: StockLevel | undefined;
  /** Without its change number; null if the level stays unknown. */
  readonly level: StockLevel | null;
  /** The overwritten value; `oldQty` is null if the level is new or restored. */
  readonly overwritten: { readonly oldQty: number | null } | null;
  /** `order`: the last change may be newer than the answer, or older. `conflict`: the product must be read again. */
  readonly doubt: 'conflict' | 'order' | null;
}

/**
 * Decides what one level of an answer proves. A read that may have missed
 * a delivery overwrites nothing and asks for another read if it differs;
 * any other read sets quantity and watermarks, and restores a tombstone.
 */
export function judgeLevel(
  before: StockLevel | undefined,
  variantId: string,
  seen: LevelSnapshot,
  read: ReadContext,
): LevelVerdict {
  const { warehouseId } = seen;
  if (before === undefined) return { warehouseId, before, ...judgeUnknownLevel(variantId, seen, read) };
  if (isConcurrent(before, read)) return { warehouseId, before, ...judgeConcurrentLevel(before, seen, read) };
  return { warehouseId, before, ...judgeDominatedLevel(before, seen, read) };
}

type Judgement = Omit<LevelVerdict, 'warehouseId' | 'before'>;

function judgeDominatedLevel(before: StockLevel, seen: LevelSnapshot, read: ReadContext): Judgement {
  const level = dominate(before, seen, read);
  const doubt = null;
  if (before.goneAtMs !== null) {
    return { branch: 'dominated, restored', level, overwritten: { oldQty: null }, doubt };
  }
  if (before.qty === seen.availableQty) {
    return { branch: 'dominated, agrees', level, overwritten: null, doubt };
  }
  return { branch: 'dominated, drift', level, overwritten: { oldQty: before.qty }, doubt };
}

function judgeUnknownLevel(variantId: string, seen: LevelSnapshot, read: ReadContext): Judgement {
  if (read.superseded) {
    return { branch: 'superseded, unknown level', level: null, overwritten: null, doubt: 'conflict' };
  }
  const blank: StockLevel = {
    ...blankLevel(variantId, seen.warehouseId),
    source: 'read',
    asOfMs: read.sentAtMs,
  };
  const level = dominate(blank, seen, read);
  return { branch: 'new level', level, overwritten: { oldQty: null }, doubt: null };
}

function judgeConcurrentLevel(before: StockLevel, seen: LevelSnapshot, read: ReadContext): Judgement {
  const isGone = before.goneAtMs !== null;
  if (!isGone && before.qty === seen.availableQty) {
    const level = agreed(before, seen, read);
    return { branch: 'concurrent, agrees', level, overwritten: null, doubt: null };
  }
  const isShownAgain = isGone && !read.superseded;
  const isConflict = isGone || read.superseded;
  return {
    branch: 'concurrent, differs',
    level: {
      ...before,
      // A later change within the read's window does not end the question of their order.
      readHiMs: isConflict ? before.readHiMs : Math.max(before.readHiMs, read.hiMs),
      missingAtMs: missingAfter(before, read),
      verifiedAtMs: isShownAgain ? read.sentAtMs : before.verifiedAtMs,
    },
    overwritten: null,
    doubt: isConflict ? 'conflict' : 'order',
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
    // A later read cannot have seen less, so a low watermark above
    // this read's window came from a wrong clock.
    readLoMs: level.readLoMs > read.hiMs ? read.loMs : Math.max(level.readLoMs, read.loMs),
    readHiMs: read.hiMs,
    readAtMs: read.sentAtMs,
    verifiedAtMs: read.sentAtMs,
    missingAtMs: null,
    goneAtMs: null,
  };
}

/** Either side may have seen more, so a later change within the read's window still requests a read. */
function agreed(level: StockLevel, seen: LevelSnapshot, read: ReadContext): StockLevel {
  return {
    ...withOnHand(level, seen, read),
    readHiMs: Math.max(level.readHiMs, read.hiMs),
    verifiedAtMs: Math.max(level.verifiedAtMs ?? read.sentAtMs, read.sentAtMs),
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
