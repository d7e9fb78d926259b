/** Until a mirror has applied all that it has answered, and has what the simulated store would answer itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listening } from './child.ts';
import type { Upstream } from './upstream.ts';

const EVERY_MS = 100;

/** @returns how long it took. @throws Error when it takes longer than `withinMs`. */
export async function untilEqual(
  upstream: Upstream,
  at: Listening,
  databasePath: string,
  withinMs: number,
): Promise<number> {
  const startedMs = performance.now();
  await untilApplied(at, withinMs);
  for (;;) {
    const { different } = await upstream.ask('compare', { databasePath, known: 'told' });
    const tookMs = performance.now() - startedMs;
    if (different === 0) return tookMs;
    if (tookMs > withinMs) throw new Error(`${different} levels still differ after ${withinMs / 1_000} s`);
    await sleep(EVERY_MS);
  }
}

/** Until its tables hold every entry of its event log. @throws Error when it takes longer than `withinMs`. */
export async function untilApplied({ opsUrl }: Listening, withinMs: number): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const status = (await (await fetch(`${opsUrl}api/status`)).json()) as { readonly entries_behind: number };
    if (status.entries_behind === 0) return;
    if (performance.now() > deadlineMs)
      throw new Error(`${status.entries_behind} entries are not applied after ${withinMs / 1_000} s`);
    await sleep(EVERY_MS);
  }
}
