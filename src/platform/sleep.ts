import { setTimeout } from 'node:timers/promises';

/** @throws AbortError when the signal is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal });
}
