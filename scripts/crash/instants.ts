/** Waits for the instant of a kill, and does what is to be under way then. */
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { opsClient } from '../../src/cli/shared/ops-client.ts';
import type { MirrorChild } from './mirror-child.ts';
import type { KillPlan } from './plan.ts';

const LISTEN_WITHIN_MS = 30_000;
const OPERATOR_TIMEOUT_MS = 2_000;

interface Place {
  readonly databasePath: string;
  readonly opsPort: number;
}

/** @returns the run that a resync request was promised; null when nothing listened. @throws Error */
export async function untilInstant(plan: KillPlan, child: MirrorChild, place: Place): Promise<number | null> {
  if (plan.moment === 'first_start' || plan.moment === 'start') {
    await sleep(plan.afterSpawnMs);
    return null;
  }
  await untilListening(child);
  switch (plan.moment) {
    case 'load':
    case 'prune':
      await sleep(plan.afterListeningMs);
      return null;
    case 'resync': {
      await sleep(plan.afterListeningMs);
      const runId = await askForResync(place.opsPort);
      await sleep(plan.afterAskingMs);
      return runId;
    }
    case 'checkpoint':
      await untilCheckpoint(place.databasePath, plan.afterListeningMs);
      return null;
  }
}

/** @throws Error when it does not listen in time, or has ended. */
export async function untilListening(child: MirrorChild): Promise<void> {
  const late = sleep(LISTEN_WITHIN_MS, 'late', { ref: false });
  if ((await Promise.race([child.listening, late])) === 'late') {
    throw new Error(`the mirror does not listen after ${LISTEN_WITHIN_MS / 1_000} s`);
  }
}

/** @returns null when the answer takes so long that the kill comes first: then nothing was promised. */
async function askForResync(opsPort: number): Promise<number | null> {
  const ops = opsClient({ host: '127.0.0.1', port: opsPort, token: null });
  const asked = ops.post('/api/resync', {}, z.object({ run_id: z.number() })).then((answer) => {
    if (answer === null) throw new Error('nothing listened when a resync was requested');
    return answer.run_id;
  });
  return Promise.race([asked, sleep(OPERATOR_TIMEOUT_MS, null, { ref: false })]);
}

/** Resolves once pages have begun to move into the database file, or after `withinMs`. */
async function untilCheckpoint(path: string, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs;
  const before = statSync(path).mtimeMs;
  while (performance.now() < untilMs && statSync(path).mtimeMs === before) await sleep(2);
}
