/** Whether deliveries may have been missed before a start (docs/architecture.md#downtime). */

interface LastRun {
  /** The last heartbeat of the previous run; null: there was none. */
  readonly aliveAtMs: number | null;
  /** A downtime that the previous run had noted, and not made up for. */
  readonly missedSinceMs: number | null;
  /** The public port's socket was passed in: whoever passed it kept accepting connections. */
  readonly isInherited: boolean;
  /** When this machine was started: no socket is older. */
  readonly bootedAtMs: number;
}

/**
 * Since when deliveries may be missing. Any time without an open port counts: the store sends each delivery once.
 *
 * @returns null: none can be missing.
 */
export function missedSince({ aliveAtMs, missedSinceMs, isInherited, bootedAtMs }: LastRun): number | null {
  if (missedSinceMs !== null) return missedSinceMs;
  if (aliveAtMs === null) return 0;
  return isInherited && bootedAtMs < aliveAtMs ? null : aliveAtMs;
}
