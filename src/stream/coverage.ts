/**
 * Whether any receiver listened at every moment. All times are the engine's, so receivers' clocks do not matter
 * (docs/architecture.md#several-machines).
 */
export interface Coverage {
  /** Since when this receiver's public port has been open. */
  readonly openSinceMs: number;
  /** The socket was passed in, so that the port was open between the last run and this one. */
  readonly isContinued: boolean;
  /** This receiver's heartbeat before; null: none. */
  readonly ownLastMs: number | null;
  /** The last heartbeats of the other receivers. */
  readonly othersLastMs: readonly number[];
}

/** Heartbeats are a second apart, and may be late. */
const TOLERANCE_MS = 3_000;

/** @returns since when no receiver listened, until this one did; null: one always did, or none was ever heard. */
export function downSince({ openSinceMs, isContinued, ownLastMs, othersLastMs }: Coverage): number | null {
  if (isContinued && ownLastMs !== null) return null;
  const covered = othersLastMs.map((atMs) => atMs + TOLERANCE_MS);
  if (ownLastMs !== null) covered.push(ownLastMs);
  const untilMs = Math.max(...covered);
  return covered.length > 0 && openSinceMs > untilMs ? untilMs : null;
}
