/**
 * Bounds of θ (store time − mirror time), and from them a
 * read's window (docs/architecture.md#clock-bounds).
 */
import {
  DATE_CONTRADICTIONS,
  DATE_HEADER_STEP_MS,
  EARLIEST_MS,
  LATEST_MS,
  LONG_AFTER_READ_MS,
  NODE_SKEW_MS,
  OFFSET_WINDOW_MS,
  FUTURE_DATED_AHEAD_MS,
  PROMPT_MS,
  REPLICA_LAG_MS,
} from '../limits.ts';
import type { ReadInput, StockChange } from '../input.ts';
import type { StockLevel, MirrorStateRow } from '../model.ts';

export type OffsetFloor = Pick<
  MirrorStateRow,
  'offsetWindowStartMs' | 'offsetFloorMs' | 'offsetFloorPreviousMs'
>;

export function offsetFloorMs(floor: OffsetFloor): number | null {
  const { offsetFloorMs: current, offsetFloorPreviousMs: previous } = floor;
  if (current === null) return previous;
  return previous === null ? current : Math.max(current, previous);
}

/**
 * A change was stamped before it arrived, so θ is at least the difference. Bounds expire after two windows.
 */
export function observeArrival(floor: OffsetFloor, updateTimeMs: number, arrivedAtMs: number): OffsetFloor {
  const bound = updateTimeMs - arrivedAtMs;
  const sinceStartMs = arrivedAtMs - floor.offsetWindowStartMs;
  if (sinceStartMs >= OFFSET_WINDOW_MS || sinceStartMs < 0) {
    return {
      offsetWindowStartMs: arrivedAtMs,
      offsetFloorMs: bound,
      offsetFloorPreviousMs: sinceStartMs < 2 * OFFSET_WINDOW_MS ? floor.offsetFloorMs : null,
    };
  }
  if (floor.offsetFloorMs !== null && floor.offsetFloorMs >= bound) return floor;
  return { ...floor, offsetFloorMs: bound };
}

/** The stamp is too far ahead of its arrival to advance the event time of a stock level. */
export function isFutureDated(
  updateTimeMs: number,
  arrivedAtMs: number,
  bounds: OffsetFloor & Pick<MirrorStateRow, 'offsetCeilingMs'>,
): boolean {
  const offsetMs = bounds.offsetCeilingMs ?? Math.max(0, offsetFloorMs(bounds) ?? 0);
  return updateTimeMs > arrivedAtMs + offsetMs + FUTURE_DATED_AHEAD_MS;
}

/**
 * The change was stamped after its arrival: the clock of the
 * node that stamped it is ahead by an unknown amount.
 */
export function isStampedAhead(
  updateTimeMs: number,
  arrivedAtMs: number,
  { offsetCeilingMs }: Pick<MirrorStateRow, 'offsetCeilingMs'>,
): boolean {
  return offsetCeilingMs !== null && updateTimeMs > arrivedAtMs + offsetCeilingMs + NODE_SKEW_MS;
}

type DateContradictions = OffsetFloor & Pick<MirrorStateRow, 'dateContradictions'>;

/**
 * Weighs a change that, by the `Date` of a read's answer, predates that read. If it is
 * prompt and its `old` is the value read, it came after the read: the `Date` was
 * ahead. If its `new` is the value read, the `Date` was right, unless the change is
 * prompt and long after the read, because the level may have changed and changed back.
 */
export function weighDate(
  bounds: DateContradictions,
  level: Pick<StockLevel, 'qty' | 'readAtMs'>,
  change: Pick<StockChange, 'old' | 'new' | 'updateTimeMs'>,
  arrivedAtMs: number,
): Pick<DateContradictions, 'dateContradictions'> {
  const { dateContradictions } = bounds;
  const floorMs = offsetFloorMs(bounds);
  const isPrompt = floorMs !== null && change.updateTimeMs - arrivedAtMs >= floorMs - NODE_SKEW_MS;
  const isLongAfterRead = arrivedAtMs - level.readAtMs >= LONG_AFTER_READ_MS;
  if (change.new === level.qty && !(isPrompt && isLongAfterRead)) return { dateContradictions: 0 };
  if (!isPrompt || change.old !== level.qty) return { dateContradictions };
  return { dateContradictions: Math.min(DATE_CONTRADICTIONS, dateContradictions + 1) };
}

/** The `Date` header has turned out wrong. */
export function isDateDropped({ dateContradictions }: Pick<MirrorStateRow, 'dateContradictions'>): boolean {
  return dateContradictions >= DATE_CONTRADICTIONS;
}

function offsetWithoutDateMs(floorMs: number | null, dateContradictions: number): number | null {
  return isDateDropped({ dateContradictions }) ? floorMs : null;
}

/** A level's low watermark, store time; without the `Date` of its read if the header has turned out wrong. */
export function lowWatermarkMs(
  level: Pick<StockLevel, 'readLoMs' | 'readAtMs'>,
  bounds: DateContradictions,
): number {
  const floorMs = offsetWithoutDateMs(offsetFloorMs(bounds), bounds.dateContradictions);
  return floorMs === null
    ? level.readLoMs
    : Math.min(level.readLoMs, loByArrivalsMs(level.readAtMs, floorMs));
}

/** No replica that answered a read sent then was further behind. */
function loByArrivalsMs(sentAtMs: number, floorMs: number): number {
  return sentAtMs + floorMs - NODE_SKEW_MS - REPLICA_LAG_MS;
}

interface ReadWindow {
  readonly loMs: number;
  readonly hiMs: number;
  /** Upper bound of θ from this answer; null without a usable `Date` header. */
  readonly ceilingMs: number | null;
  /** 0 if this answer's `Date` agrees with the arrivals. */
  readonly dateContradictions: number;
  /** The bounds exclude each other because a clock was set: forget the bounds learnt from arrivals. */
  readonly contradicts: boolean;
}

/**
 * Store time. The last stamp of a clock that was set back before the answer of a read: a late change with one may
 * look newer than the answer. @param bounds those before the answer.
 */
export function stampedUntilMs(
  { sentAtMs, receivedAtMs }: Pick<ReadInput, 'sentAtMs' | 'receivedAtMs'>,
  bounds: OffsetFloor & Pick<MirrorStateRow, 'offsetCeilingMs' | 'stampedUntilMs'>,
): number | null {
  const floorMs = offsetFloorMs(bounds);
  if (floorMs === null) return bounds.stampedUntilMs;
  const offsetMs = Math.max(floorMs + PROMPT_MS, bounds.offsetCeilingMs ?? EARLIEST_MS);
  const untilMs = Math.max(sentAtMs, receivedAtMs) + offsetMs + NODE_SKEW_MS;
  return Math.max(untilMs, bounds.stampedUntilMs ?? EARLIEST_MS);
}

/**
 * The window, store time, in which a read was sampled. An unknown bound is infinite: more reads, no error.
 */
export function readWindow(
  read: {
    readonly sentAtMs: number;
    readonly receivedAtMs: number;
    readonly serverDateMs: number | null;
  },
  floorMs: number | null,
  dateContradictions = 0,
): ReadWindow {
  const { sentAtMs, receivedAtMs } = read;
  const agrees =
    read.serverDateMs !== null &&
    floorMs !== null &&
    read.serverDateMs - receivedAtMs - NODE_SKEW_MS <= floorMs + PROMPT_MS;
  const contradictions = agrees ? 0 : dateContradictions;
  const byArrivalsMs = offsetWithoutDateMs(floorMs, contradictions);
  if (byArrivalsMs !== null && receivedAtMs >= sentAtMs) {
    return {
      loMs: loByArrivalsMs(sentAtMs, byArrivalsMs),
      hiMs: receivedAtMs + byArrivalsMs + PROMPT_MS + NODE_SKEW_MS,
      ceilingMs: byArrivalsMs + PROMPT_MS,
      dateContradictions: contradictions,
      contradicts: false,
    };
  }
  const { serverDateMs } = read;
  const ceilingMs = serverDateMs === null ? null : serverDateMs + DATE_HEADER_STEP_MS - sentAtMs;
  const contradicts =
    (ceilingMs !== null && floorMs !== null && floorMs > ceilingMs + NODE_SKEW_MS) ||
    // The mirror's clock was set back during the request.
    receivedAtMs < sentAtMs;
  if (contradicts) {
    return { loMs: EARLIEST_MS, hiMs: LATEST_MS, ceilingMs, dateContradictions: contradictions, contradicts };
  }

  const floors: number[] = [];
  // The bound comes from one node's clock and applies to another's.
  if (floorMs !== null) floors.push(floorMs - NODE_SKEW_MS);
  if (serverDateMs !== null) floors.push(serverDateMs - receivedAtMs - NODE_SKEW_MS);
  return {
    loMs: floors.length === 0 ? EARLIEST_MS : sentAtMs + Math.max(...floors) - REPLICA_LAG_MS,
    hiMs: ceilingMs === null ? LATEST_MS : receivedAtMs + ceilingMs + NODE_SKEW_MS,
    ceilingMs,
    dateContradictions: contradictions,
    contradicts,
  };
}
