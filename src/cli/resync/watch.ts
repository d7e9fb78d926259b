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

const LOOK_EVERY_MS = 300;
/** Only a person can end these; waiting would be in vain. */
const NEEDS_A_PERSON: ReadonlySet<string> = new Set(['credentials', 'wrong_store']);

/**
 * @param look null when nothing can be seen at the moment.
 * @returns the finished run; null when interrupted.
 * @throws Error what `look` throws, and why the store must not be asked.
 */
export async function watchRun(
  look: () => Promise<Sight | null>,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  let told: string | null = null;
  while (!interrupted.aborted) {
    const sight = await look();
    if (sight !== null) {
      const { run, blocked } = sight;
      progress.show(run);
      if (run.state !== 'running') return run;
      if (blocked !== null && NEEDS_A_PERSON.has(blocked.kind)) throw new Error(blocked.message);
      if (blocked !== null && blocked.kind !== told) progress.say(`waiting: ${blocked.message}`);
      told = blocked?.kind ?? null;
    }
    await pause(LOOK_EVERY_MS, interrupted);
  }
  return null;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects when interrupted; the loop notices that by itself.
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
