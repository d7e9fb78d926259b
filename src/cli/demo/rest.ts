/** Waits until the mirror has nothing left to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { NoAnswerError, type OpsClient } from '../shared/ops-client.ts';

const LOOK_EVERY_MS = 200;

const statusSchema = z.object({ state: z.string(), pending_reads: z.number() });
const runsSchema = z.object({ runs: z.array(z.object({ run_id: z.number(), state: z.string() })) });

/** No run is under way. With `readsToo`, also no read is due and the mirror is live. */
interface Rest {
  readonly readsToo: boolean;
  readonly withinMs: number;
}

/**
 * @param cancelled ends the wait.
 * @returns false on a timeout. @throws the reason of `cancelled`.
 */
export async function untilAtRest(
  ops: Pick<OpsClient, 'get'>,
  rest: Rest,
  cancelled: AbortSignal,
): Promise<boolean> {
  const untilMs = performance.now() + rest.withinMs;
  while (performance.now() < untilMs) {
    if (await isAtRest(ops, rest)) return true;
    cancelled.throwIfAborted();
    await sleep(LOOK_EVERY_MS, undefined, { signal: cancelled }).catch(() => cancelled.throwIfAborted());
  }
  return false;
}

async function isAtRest(ops: Pick<OpsClient, 'get'>, { readsToo }: Rest): Promise<boolean> {
  try {
    const answer = await ops.get('/api/runs', runsSchema);
    if (answer === null || answer.runs.some((run) => run.state === 'running')) return false;
    const status = await ops.get('/api/status', statusSchema);
    return status !== null && (!readsToo || (status.state === 'live' && status.pending_reads === 0));
  } catch (error) {
    if (error instanceof NoAnswerError) return false;
    throw error;
  }
}
