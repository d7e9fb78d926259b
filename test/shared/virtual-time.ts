import { onTestFinished } from 'vitest';
import { T0 } from '../mirror/mirror-file.ts';
import { installGlobals } from '../simulation/globals.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

/** Replaces clock and timers until the test ends; time passes only in `eventually` and `pass`. */
export function virtualTime() {
  const time = new VirtualTime(T0);
  const globals = installGlobals(time, 1);
  onTestFinished(() => globals.restore());
  let setBackMs = 0;
  const now = (): number => time.nowMs - setBackMs;
  const eventually = async <T>(
    check: () => T | Promise<T>,
    { what }: { what: string },
  ): Promise<Exclude<T, false | null | undefined>> => {
    const untilMs = time.nowMs + 24 * 3_600_000;
    while (time.nowMs <= untilMs) {
      const value = await check();
      if (value !== false && value !== null && value !== undefined)
        return value as Exclude<T, false | null | undefined>;
      const { steps } = time;
      await time.runUntil(time.nowMs + 1_000, () => time.steps > steps);
    }
    throw new Error(`never: ${what}`);
  };
  const pass = (ms: number): Promise<unknown> => time.runUntil(time.nowMs + ms);
  /** Sets `now` back, and neither timers nor the monotonic clock. */
  const setBack = (ms: number): void => {
    setBackMs += ms;
  };
  return { now, eventually, pass, setBack };
}
