/** Waiting on conditions, never on luck. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Kept, in case a test stands in for the clock. */
const now = performance.now.bind(performance);
const POLL_MS = 20;
/** Only a hang takes so long. */
const BOUND_MS = 120_000;

interface Awaited {
  /** For the failure's message. */
  readonly what: string;
}

/** Resolves with the first value that is neither false, null nor undefined. An error thrown by `check` counts as "not yet". */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { what }: Awaited,
): Promise<Exclude<T, false | null | undefined>> {
  const untilMs = now() + BOUND_MS;
  let last: unknown;
  for (;;) {
    try {
      const value = await check();
      if (value !== false && value !== null && value !== undefined) {
        return value as Exclude<T, false | null | undefined>;
      }
      last = value;
    } catch (error) {
      last = error;
    }
    if (now() > untilMs) throw new Error(`never: ${what} (last: ${String(last)})`, { cause: last });
    await sleep(POLL_MS);
  }
}

/** As `eventually`, until `differences` returns none; the failure lists them. */
export async function untilNone(
  differences: () => readonly string[] | Promise<readonly string[]>,
  awaited: Awaited,
): Promise<void> {
  await eventually(async () => {
    const left = await differences();
    if (left.length > 0) throw new Error(`${left.length} left: ${left.slice(0, 8).join('; ')}`);
    return true;
  }, awaited);
}

/** Holds throughout `ms`. For what must not happen. */
export async function throughout(ms: number, check: () => void | Promise<void>): Promise<void> {
  const untilMs = now() + ms;
  while (now() < untilMs) {
    await check();
    await sleep(POLL_MS);
  }
}
