/** How long nobody listened for webhooks. */

/** Where the clock was set back since, or another machine's is ahead, the length is unknown and taken to be long. */
const UNTOLD_SILENCE_MS = 60_000;

/** @param lastMs when somebody last did. @param toleratedMs a clock may be set by up to this much before that counts. */
export function silenceMs(lastMs: number, nowMs: number, toleratedMs = 0): number {
  return lastMs > nowMs + toleratedMs ? UNTOLD_SILENCE_MS : Math.max(0, nowMs - lastMs);
}
