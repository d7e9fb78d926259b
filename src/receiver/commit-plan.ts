/** Decides what the receiver's next commit stores. */
import type { StreamPosition } from '../inbox/inbox-file.ts';
import type { Missed } from '../core/input.ts';
import type { SqliteFault } from '../sqlite/errors.ts';
import type { Append, Arrival } from './inbox-writer.ts';

/** Enough to share a sync, few enough to answer in time. */
const ARRIVALS_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 << 20;

/** Rows that are stored together. */
export interface Waiting {
  readonly arrivals: readonly Arrival[];
  /** Where they end in the stream; null if they were received here. */
  readonly position: StreamPosition | null;
  readonly resolve: () => void;
  readonly reject: (error: SqliteFault) => void;
}

export interface Due {
  /** Oldest first. */
  readonly waiting: readonly Waiting[];
  /** Everything that may have been missed and is not on disk: it must be there before any later delivery. */
  readonly missed: readonly Missed[];
  readonly isHeartbeatDue: boolean;
}

export interface CommitPlan extends Pick<Append, 'missed' | 'arrivals' | 'position'> {
  /** The oldest of those that wait; the others wait for the next commit. */
  readonly taken: readonly Waiting[];
  readonly hasHeartbeat: boolean;
}

/** @returns null if nothing is due. */
export function planCommit({ waiting, missed, isHeartbeatDue }: Due): CommitPlan | null {
  if (waiting.length === 0 && missed.length === 0 && !isHeartbeatDue) return null;
  const taken = waiting.slice(0, groupsAtOnce(waiting));
  return {
    taken,
    missed,
    arrivals: taken.flatMap(({ arrivals }) => arrivals),
    position: taken.findLast(({ position }) => position !== null)?.position ?? null,
    hasHeartbeat: isHeartbeatDue,
  };
}

function groupsAtOnce(waiting: readonly Waiting[]): number {
  let bytes = 0;
  let rows = 0;
  let groups = 0;
  for (const { arrivals } of waiting) {
    if (rows >= ARRIVALS_AT_ONCE || bytes >= BYTES_AT_ONCE) break;
    for (const { body } of arrivals) bytes += body.byteLength;
    rows += arrivals.length;
    groups += 1;
  }
  return groups;
}
