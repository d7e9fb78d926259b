/** Follows a run in a running mirror, also while that mirror is down and until it has been started again. */
import { z } from 'zod';
import { isStandstill, type Cause, type CauseKind } from '../../ops/condition/cause.ts';
import { causeSchema } from '../shared/cause-schema.ts';
import { blockedSchema, NoAnswerError, runViewSchema, type OpsClient } from '../shared/ops-client.ts';
import type { Progress, RunView } from '../shared/progress.ts';
import { watchRun, type Sight } from './watch.ts';

/** A supervisor restarts a mirror that was killed; its run continues then. */
const BACK_WITHIN_MS = 60_000;

const statusSchema = z.object({
  blocked: blockedSchema.nullable(),
  causes: z.array(causeSchema).optional(),
});

const STOPS_READING: ReadonlySet<CauseKind> = new Set<CauseKind>([
  'store_down',
  'not_the_store',
  'rate_limited',
]);
const isInTheWay = (cause: Cause): boolean => isStandstill(cause) || STOPS_READING.has(cause.kind);

interface FollowDeps {
  readonly ops: OpsClient;
  /** Asks for the same run again; null when nothing listens. */
  readonly begin: () => Promise<{ readonly run_id: number } | null>;
  readonly progress: Progress;
}

/** @returns the finished run; null when interrupted. @throws Error when the mirror stays away. */
export async function followInServer(
  { ops, begin, progress }: FollowDeps,
  acceptedRunId: number,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  let runId = acceptedRunId;
  let goneSinceMs: number | null = null;
  let wasStartedAgain = false;

  const look = async (): Promise<Sight | null> => {
    const sight = await lookAt(ops, runId);
    if (sight === null) {
      if (goneSinceMs === null) progress.say('the mirror has stopped; the run continues when it is back');
      goneSinceMs ??= performance.now();
      if (performance.now() - goneSinceMs < BACK_WITHIN_MS) return null;
      throw new Error('the mirror did not come back: start it, or run resync again without it');
    }
    if (goneSinceMs !== null) {
      progress.say('the mirror is back');
      goneSinceMs = null;
      wasStartedAgain = true;
    }
    if (wasStartedAgain && sight.run.state === 'failed') {
      // A start of the mirror reads the whole catalogue by itself, and that run supersedes a run of before the start.
      wasStartedAgain = false;
      runId = (await begin())?.run_id ?? runId;
      return null;
    }
    return sight;
  };
  return watchRun(look, progress, interrupted);
}

/** @returns null when the mirror cannot be reached. */
async function lookAt(ops: OpsClient, runId: number): Promise<Sight | null> {
  try {
    const run = await ops.get(`/api/runs/${runId}`, runViewSchema);
    const status = await ops.get('/api/status', statusSchema);
    return run === null || status === null
      ? null
      : { run, blocked: status.blocked, causes: (status.causes ?? []).filter(isInTheWay) };
  } catch (error) {
    if (error instanceof NoAnswerError) return null;
    throw error;
  }
}
