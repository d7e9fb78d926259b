import { setTimeout as sleep } from 'node:timers/promises';

/** Captured before a test replaces the clock. */
const now = performance.now.bind(performance);
const POLL_MS = 20;
/** Only a hang takes so long. */
const BOUND_MS = 120_000;

interface Awaited {
  readonly what: string;
}

/** Resolves with the first value that is not false, null or undefined; an error means "not yet". */
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

export async function throughout(ms: number, check: () => void | Promise<void>): Promise<void> {
  const untilMs = now() + ms;
  while (now() < untilMs) {
    await check();
    await sleep(POLL_MS);
  }
}
