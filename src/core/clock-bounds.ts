/**
 * What can be known of the service's clock (docs/architecture.md#clock-bounds): bounds of the offset
 * θ = service's clock − own clock, and from them the window, in the service's clock, in which a read was sampled.
 */
import {
  DATE_HEADER_STEP_MS,
  EARLIEST_MS,
  LATEST_MS,
  NODE_SKEW_MS,
  OFFSET_WINDOW_MS,
  POISON_AHEAD_MS,
  REPLICA_LAG_MS,
} from './limits.ts';
import type { MirrorState } from './model.ts';

export type OffsetFloor = Pick<
  MirrorState,
  'offsetWindowStartMs' | 'offsetFloorMs' | 'offsetFloorPreviousMs'
>;

/** The greatest lower bound of θ known; null when none is. */
export function offsetFloorMs(floor: OffsetFloor): number | null {
  const { offsetFloorMs: current, offsetFloorPreviousMs: previous } = floor;
  if (current === null) return previous;
  return previous === null ? current : Math.max(current, previous);
}

/** A change was stamped before it arrived, so θ is at least the difference. Two windows, so that drift is forgotten. */
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

/** The change claims a time too far ahead of its arrival to be let near the cell's event time. */
export function isPoison(
  updateTimeMs: number,
  arrivedAtMs: number,
  known: OffsetFloor & Pick<MirrorState, 'offsetCeilingMs'>,
): boolean {
  const offsetMs = known.offsetCeilingMs ?? Math.max(0, offsetFloorMs(known) ?? 0);
  return updateTimeMs > arrivedAtMs + offsetMs + POISON_AHEAD_MS;
}

export interface ReadWindow {
  readonly loMs: number;
  readonly hiMs: number;
  /** Upper bound of θ that this answer gave; null when it had no usable Date header. */
  readonly ceilingMs: number | null;
  /** The bounds exclude each other: a clock was set. What was learnt from arrivals must be learnt anew. */
  readonly contradicts: boolean;
}

/** Window, in the service's clock, of the instant that a read shows. Unknown sides are unbounded: slower, never wrong. */
export function readWindow(
  read: {
    readonly sentAtMs: number;
    readonly receivedAtMs: number;
    readonly serverDateMs: number | null;
  },
  floorMs: number | null,
): ReadWindow {
  const { sentAtMs, receivedAtMs, serverDateMs } = read;
  const ceilingMs = serverDateMs === null ? null : serverDateMs + DATE_HEADER_STEP_MS - sentAtMs;
  const contradicts =
    (ceilingMs !== null && floorMs !== null && floorMs > ceilingMs + NODE_SKEW_MS) ||
    // The own clock was set back while the answer was under way.
    receivedAtMs < sentAtMs;
  if (contradicts) return { loMs: EARLIEST_MS, hiMs: LATEST_MS, ceilingMs, contradicts };

  const floors: number[] = [];
  // Learnt from the stamps of one node, held against those of another.
  if (floorMs !== null) floors.push(floorMs - NODE_SKEW_MS);
  if (serverDateMs !== null) floors.push(serverDateMs - receivedAtMs - NODE_SKEW_MS);
  return {
    loMs: floors.length === 0 ? EARLIEST_MS : sentAtMs + Math.max(...floors) - REPLICA_LAG_MS,
    hiMs: ceilingMs === null ? LATEST_MS : receivedAtMs + ceilingMs + NODE_SKEW_MS,
    ceilingMs,
    contradicts,
  };
}
