/** Waiting on conditions, never on luck: every wait has a deadline and says what it waited for. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

interface Deadline {
  /** What is waited for, for the failure's message. */
  readonly what: string;
  readonly withinMs?: number;
}

/** Resolves with the first value that is neither false, null nor undefined. An error thrown by `check` counts as "not yet". */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { what, withinMs = 20_000 }: Deadline,
): Promise<Exclude<T, false | null | undefined>> {
  const untilMs = performance.now() + withinMs;
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
    if (performance.now() > untilMs) {
      throw new Error(`not within ${withinMs} ms: ${what} (last: ${String(last)})`, { cause: last });
    }
    await sleep(POLL_MS);
  }
}

/** As `eventually`, until `differences` returns none; the failure lists them. */
export async function untilNone(
  differences: () => readonly string[] | Promise<readonly string[]>,
  { what, withinMs = 20_000 }: Deadline,
): Promise<void> {
  await eventually(
    async () => {
      const left = await differences();
      if (left.length > 0) throw new Error(`${left.length} left: ${left.slice(0, 8).join('; ')}`);
      return true;
    },
    { what, withinMs },
  );
}

/** Holds throughout `ms`. For what must not happen. */
export async function throughout(ms: number, check: () => void | Promise<void>): Promise<void> {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs) {
    await check();
    await sleep(POLL_MS);
  }
}
