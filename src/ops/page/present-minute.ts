/** The minute that has not ended yet. */
import type { Status } from '../../mirror/queries/status.ts';
import type { Minute } from '../state/timeline.ts';

/** Puts the current figures into the last minute, which is sampled less often than the page is viewed. */
export function withPresent(
  minutes: readonly Minute[],
  status: Status,
  oldestSuspectAtMs: number | null,
  nowMs: number,
): Minute[] {
  const last = minutes.at(-1);
  if (last === undefined) return [];
  const lagMs = oldestSuspectAtMs === null ? 0 : Math.max(0, nowMs - oldestSuspectAtMs);
  return [
    ...minutes.slice(0, -1),
    {
      ...last,
      pendingReads: Math.max(last.pendingReads ?? 0, status.pending_reads),
      suspects: Math.max(last.suspects ?? 0, status.suspect_count),
      openGaps: Math.max(last.openGaps ?? 0, status.open_gaps),
      lagMs: Math.max(last.lagMs ?? 0, lagMs),
    },
  ];
}
