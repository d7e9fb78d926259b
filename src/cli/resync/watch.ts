/** Watches a run until it ends, and shows its progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { blockedSchema } from '../shared/ops-client.ts';
import type { Progress, RunView } from '../shared/progress.ts';

export interface Sight {
  readonly run: RunView;
  /** Why the store is not being asked at the moment. */
  readonly blocked: z.infer<typeof blockedSchema> | null;
}

/** Only a person can end these; waiting would be in vain. */
const NEEDS_A_PERSON: ReadonlySet<string> = new Set(['credentials', 'wrong_store']);

/**
 * @param sights of the run; they end before it does when they are interrupted.
 * @returns the finished run; null when interrupted.
 * @throws Error why the store must not be asked.
 */
export async function watchRun(sights: AsyncIterable<Sight>, progress: Progress): Promise<RunView | null> {
  let told: string | null = null;
  for await (const { run, blocked } of sights) {
    progress.show(run);
    if (run.state !== 'running') return run;
    if (blocked !== null && NEEDS_A_PERSON.has(blocked.kind)) throw new Error(blocked.message);
    if (blocked !== null && blocked.kind !== told) progress.say(`waiting: ${blocked.message}`);
    told = blocked?.kind ?? null;
  }
  return null;
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects when interrupted; who waits notices that by itself.
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
