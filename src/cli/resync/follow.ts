/** Follows a run in a running mirror, also while that mirror is down and until it has been started again. */
import { z } from 'zod';
import { causeSchema } from '../shared/cause-schema.ts';
import { blockedSchema, NoAnswerError, runViewSchema, type OpsClient } from '../shared/ops-client.ts';
import type { Progress, RunView } from '../shared/progress.ts';
import { pause, watchRun, type Sight } from './watch.ts';

/** A supervisor restarts a mirror that was killed; its run continues then. */
const BACK_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 300;

interface FollowDeps {
  readonly ops: Pick<OpsClient, 'events'>;
  /** Asks for the same run again; null when nothing listens. */
  readonly begin: () => Promise<{ readonly run_id: number } | null>;
  readonly progress: Progress;
}

/** @returns the finished run; null when interrupted. @throws Error when the mirror stays away. */
export function followInServer(
  deps: FollowDeps,
  acceptedRunId: number,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  return watchRun(sights(deps, acceptedRunId, interrupted), deps.progress);
}

async function* sights(
  { ops, begin, progress }: FollowDeps,
  acceptedRunId: number,
  interrupted: AbortSignal,
): AsyncGenerator<Sight> {
  let runId = acceptedRunId;
  let goneSinceMs: number | null = null;
  let wasStartedAgain = false;
  while (!interrupted.aborted) {
    try {
      for await (const sight of sightsOf(ops, runId, interrupted)) {
        if (goneSinceMs !== null) {
          progress.say('the mirror is back');
          goneSinceMs = null;
          wasStartedAgain = true;
        }
        if (!wasStartedAgain || sight.run.state !== 'failed') {
          yield sight;
          continue;
        }
        // A start of the mirror reads the whole catalogue by itself, and that run supersedes a run of before the start.
        wasStartedAgain = false;
        const again = await begin();
        if (again === null) break;
        runId = again.run_id;
        yield* sightsOf(ops, runId, interrupted);
      }
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
    }
    if (interrupted.aborted) return;
    if (goneSinceMs === null) progress.say('the mirror has stopped; the run continues when it is back');
    goneSinceMs ??= performance.now();
    if (performance.now() - goneSinceMs > BACK_WITHIN_MS) {
      throw new Error('the mirror did not come back: start it, or run resync again without it');
    }
    await pause(LOOK_AGAIN_MS, interrupted);
  }
}

/** What the mirror says of the run, until it has ended or the mirror has stopped. */
async function* sightsOf(
  ops: FollowDeps['ops'],
  runId: number,
  interrupted: AbortSignal,
): AsyncGenerator<Sight> {
  let blocked: Sight['blocked'] = null;
  let causes: Sight['causes'] = [];
  for await (const { name, data } of ops.events(`/api/runs/${runId}/stream`, interrupted)) {
    if (name === 'blocked') blocked = blockedSchema.nullable().parse(data);
    else if (name === 'causes') causes = z.array(causeSchema).parse(data);
    else if (name === 'run') yield { run: runViewSchema.parse(data), blocked, causes };
  }
}
