/**
 * How one product read applies to a stock level or a total (docs/architecture.md#reads): it never overwrites a
 * change that it may not have seen, and what it overwrites it says.
 */
import type { LevelSnapshot } from '../entry.ts';
import { REPLICA_LAG_MS } from '../limits.ts';
import type { Cell } from '../model.ts';
import { blankCell } from './unknown.ts';

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
  'new cell',
  'superseded, unknown cell',
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
  readonly cell: Cell | null;
  /** What the mirror held, when the value was overwritten; null for a new or returning level. */
  readonly overwritten: { readonly oldQty: number | null } | null;
  readonly requestRead: boolean;
}

export function mergeLevel(
  cell: Cell | undefined,
  variantId: string,
  level: LevelSnapshot,
  read: ReadContext,
): LevelOutcome {
  if (cell === undefined) {
    if (read.superseded) {
      return { branch: 'superseded, unknown cell', cell: null, overwritten: null, requestRead: true };
    }
    const blank: Cell = { ...blankCell(variantId, level.warehouseId), source: 'read', asOfMs: read.sentAtMs };
    const fresh = dominate(blank, level, read);
    return { branch: 'new cell', cell: fresh, overwritten: { oldQty: null }, requestRead: false };
  }
  if (isConcurrent(cell, read)) {
    const agrees = cell.goneAtMs === null && cell.qty === level.availableQty;
    const shown: Cell = { ...cell, missingAtMs: missingAfter(cell, read) };
    const isShownAgain = cell.goneAtMs !== null && !read.superseded;
    return {
      branch: agrees ? 'concurrent, agrees' : 'concurrent, differs',
      cell: agrees
        ? agreed(cell, level, read)
        : isShownAgain
          ? { ...shown, verifiedAtMs: read.sentAtMs }
          : shown,
      overwritten: null,
      requestRead: !agrees,
    };
  }
  const merged = dominate(cell, level, read);
  if (cell.goneAtMs !== null) {
    return {
      branch: 'dominated, back from the dead',
      cell: merged,
      overwritten: { oldQty: null },
      requestRead: false,
    };
  }
  const drift = cell.qty !== level.availableQty;
  return {
    branch: drift ? 'dominated, drift' : 'dominated, agrees',
    cell: merged,
    overwritten: drift ? { oldQty: cell.qty } : null,
    requestRead: false,
  };
}

/** The read's figures become the level's; its event time stays, so that stragglers are still told from news. */
function dominate(cell: Cell, level: LevelSnapshot, read: ReadContext): Cell {
  const changed = cell.goneAtMs !== null || cell.qty !== level.availableQty;
  return {
    ...withOnHand(cell, level, read),
    qty: level.availableQty,
    source: changed ? 'read' : cell.source,
    asOfMs: changed ? read.sentAtMs : cell.asOfMs,
    // A later read cannot have seen less: a low watermark above all that it can have seen came from a wrong clock.
    readLoMs: cell.readLoMs > read.hiMs ? read.loMs : Math.max(cell.readLoMs, read.loMs),
    readHiMs: read.hiMs,
    verifiedAtMs: read.sentAtMs,
    missingAtMs: null,
    unexplainedAtMs: null,
    goneAtMs: null,
  };
}

/**
 * A concurrent read that shows what the mirror holds. Either of them may have seen more than the other, so a change
 * within the read's window that arrives later is in doubt, as after any read; below it, nothing becomes certain.
 */
function agreed(cell: Cell, level: LevelSnapshot, read: ReadContext): Cell {
  return {
    ...withOnHand(cell, level, read),
    readHiMs: Math.max(cell.readHiMs, read.hiMs),
    verifiedAtMs: cell.verifiedAtMs === null ? read.sentAtMs : Math.max(cell.verifiedAtMs, read.sentAtMs),
    missingAtMs: missingAfter(cell, read),
  };
}

/** It is shown: unless it was a later read that missed it, the wait for its removal begins again. */
function missingAfter(cell: Cell, read: ReadContext): number | null {
  return read.superseded ? cell.missingAtMs : null;
}

/** Webhooks never carry these two figures, so even a concurrent read is their newest source. */
function withOnHand(cell: Cell, level: LevelSnapshot, read: ReadContext): Cell {
  if (read.superseded) return cell;
  return { ...cell, onHand: level.onHand, reservedQty: level.reservedQty, onHandAsOfMs: read.sentAtMs };
}
