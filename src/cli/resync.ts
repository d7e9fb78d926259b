/** `stock-mirror resync`: a running mirror does the work; without one, this process does (docs/operating.md#run). */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { counted } from '../platform/amounts.ts';
import { openMirror, type OpenMirror } from '../app/mirror.ts';
import { loadConfig, loadLocalConfig, type Config, type LocalConfig } from '../config/config.ts';
import { createLog } from '../platform/log.ts';
import { viewRun } from '../ops/shared/run-view.ts';
import { hasTrait, type Cause, type CauseCode } from '../ops/state/causes.ts';
import { storeCause } from '../ops/state/store-cause.ts';
import { inboxPath } from '../inbox/inbox-file.ts';
import { openInboxWriter } from '../receiver/inbox-writer.ts';
import { isThere } from '../sqlite/is-there.ts';
import { isDatabaseLocked } from '../sqlite/lock.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { productIds } from './shared/flags.ts';
import { interruptible } from './shared/interrupt.ts';
import {
  NoAnswerError,
  opsClient,
  runViewSchema,
  stateSchema,
  statusOfOwn,
  type OpsClient,
  type RunView,
} from './shared/ops-client.ts';
import { createProgress, type Progress } from './shared/progress.ts';

interface ResyncOptions {
  readonly product?: string[];
  readonly detach?: boolean;
  readonly allowRemovals?: boolean;
  readonly json?: boolean;
}

interface FollowedRun {
  readonly run: Pick<RunView, 'state' | 'done' | 'total' | 'drift'>;
  readonly hold: Hold | null;
}

type Hold = Pick<Cause, 'message' | 'remedy'> & { readonly code: CauseCode | 'away' };

const MIRROR_AWAY: Hold = {
  code: 'away',
  message: 'The mirror does not answer.',
  remedy: 'If it is not just restarting, start it; its run then continues.',
};
const LOOK_EVERY_MS = 300;
/** Time for a supervisor to restart a killed mirror, whose run then continues. */
const BACK_WITHIN_MS = 60_000;

const CONTINUES =
  'is already under way: products that it has read are not read again. To compare every product as of now, run resync ' +
  'again when it has ended';

export function createCommand(): Command {
  const command = new Command('resync')
    .option('--product <id...>', 'only these products', productIds)
    .option('--detach', 'start the run in the running mirror, and return at once')
    .option(
      '--allow-removals',
      'carry out removals that the mass-removal guard holds back; for an hour, it then holds back none, ' +
        'of any product, also with --product',
    )
    .option('--json', 'print the finished run as JSON')
    .action(async (options: ResyncOptions) => {
      process.exitCode = await resync(options, loadLocalConfig());
    });
  return explained(command, {
    examples: [
      { what: 'the whole catalogue', run: 'stock-mirror resync' },
      { what: 'two products', run: 'stock-mirror resync --product 123 456' },
      { what: 'the whole catalogue, without waiting', run: 'stock-mirror resync --detach' },
    ],
  });
}

async function resync(options: ResyncOptions, config: LocalConfig): Promise<number> {
  const ops = opsClient(config.ops);
  const isServed = (await statusOfOwn(config, ops)) !== null;
  const accepted = isServed
    ? await ops.post(
        '/api/resync',
        { product_ids: options.product, allow_removals: options.allowRemovals },
        z.object({ run_id: z.number(), joined: z.boolean() }),
      )
    : null;
  if (options.detach === true) {
    if (accepted === null) {
      throw new Error(`no mirror listens at ${addressOf(config)}: start it, or leave out --detach`);
    }
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify(accepted)}\n`
        : `run ${accepted.run_id} ${accepted.joined ? CONTINUES : 'has begun in the running mirror'}\n`,
    );
    return EXIT.done;
  }

  const progress = createProgress(options.json === true ? process.stderr : process.stdout);
  const interrupted = interruptible();
  let run;
  try {
    if (accepted === null) run = await resyncHere(options, loadConfig(), progress, interrupted);
    else {
      if (accepted.joined) progress.say(`run ${accepted.run_id} ${CONTINUES}`);
      run = await follow({ look: () => lookThere(ops, accepted.run_id), progress, interrupted });
    }
  } finally {
    progress.end();
  }
  if (run === null) {
    progress.say(
      accepted === null
        ? 'stopped; the next resync, or the next start of the mirror, continues from here'
        : 'no longer shown; the run continues in the running mirror',
    );
    return EXIT.interrupted;
  }
  if (options.json === true) process.stdout.write(`${JSON.stringify(run)}\n`);
  else progress.say(summaryOf(run));
  return run.state === 'done' && run.failed === 0 ? EXIT.done : EXIT.failed;
}

async function lookThere(ops: OpsClient, runId: number) {
  try {
    const run = await ops.get(`/api/runs/${runId}`, runViewSchema);
    const status = await ops.get('/api/status', stateSchema);
    if (run === null || status === null) return null;
    return { run, hold: status.causes.find(({ code }) => hasTrait(code, 'holdsReads')) ?? null };
  } catch (error) {
    if (error instanceof NoAnswerError) return null;
    throw error;
  }
}

interface FollowDeps<S extends FollowedRun> {
  readonly look: () => Promise<S | null>;
  readonly progress: Pick<Progress, 'show' | 'say'>;
  readonly interrupted: AbortSignal;
  readonly now?: () => number;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Shows the run's progress or obstacle until it has ended; null when interrupted.
 * @throws Error if only an operator can let it continue, or if the mirror stays away.
 */
export async function follow<S extends FollowedRun>(deps: FollowDeps<S>): Promise<S['run'] | null> {
  const { look, progress, interrupted, now = () => performance.now(), pause = wait } = deps;
  let said: string | null = null;
  let seenAtMs = now();
  while (!interrupted.aborted) {
    const seen = await look();
    if (seen !== null) seenAtMs = now();
    else if (now() - seenAtMs > BACK_WITHIN_MS) {
      throw new Error('the mirror did not come back: start it, or run resync again without it');
    }
    const { run, hold } = seen ?? { run: null, hold: MIRROR_AWAY };
    if (run !== null && run.state !== 'running') {
      progress.show(run);
      return run;
    }
    const text = hold && `${hold.message} ${hold.remedy}`;
    const isInVain = hold !== null && hold.code !== 'away' && hasTrait(hold.code, 'needsOperator');
    if (isInVain) throw new Error(text ?? '');
    if (run !== null && hold === null) progress.show(run);
    if (hold !== null && hold.code !== said) progress.say(`waiting: ${text}`);
    said = hold?.code ?? null;
    await pause(LOOK_EVERY_MS, interrupted);
  }
  return null;
}

const wait = (ms: number, signal: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

async function resyncHere(
  options: ResyncOptions,
  config: Config,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  const mirror = openHere(config);
  const { databases, reconciler } = mirror;
  try {
    await databases.mirror.tried;
    if (databases.mirror.fault !== null) throw databases.mirror.fault;
    // Before the start, which begins another run if none covers the last downtime.
    const { id, joined } = await reconciler.resync(options.product ?? null, {
      allowRemovals: options.allowRemovals === true,
    });
    reconciler.start();
    if (joined) progress.say(`run ${id} ${CONTINUES}`);
    const look = async () => {
      if (databases.mirror.fault !== null) throw databases.mirror.fault;
      const run = await databases.reader.ask('runById', { id });
      if (run === null) throw new Error(`run ${id} is no longer in the database: run resync again`);
      const { blocked } = reconciler;
      return { run: viewRun(run), hold: blocked && storeCause(blocked) };
    };
    return await follow({ look, progress, interrupted });
  } finally {
    await mirror.close();
  }
}

function openHere(config: Config): OpenMirror {
  // The bar shows the progress; problems go to stderr.
  const log = createLog('error', process.stderr);
  const schedules = { ...config.schedules, reconcileCron: null, resyncCron: null };
  const { path } = config.database;
  if (isDatabaseLocked(path)) {
    throw new Error(
      `another stock-mirror process uses ${path}, and no mirror listens at ${addressOf(config)}: ` +
        'if it is a mirror, set OPS_HOST and OPS_PORT to its values; if it is a resync, wait until it ends',
    );
  }
  // A mirror reads its inbox. A receiver that runs has created it, and is never held up.
  if (!isThere(inboxPath(path))) openInboxWriter(path).close();
  return openMirror({ config: { ...config, schedules }, log });
}

function summaryOf(run: RunView): string {
  const ended = run.state === 'done' ? 'done' : `failed: ${run.error ?? 'see the log'}`;
  const missing = run.failed > 0 ? `, ${run.failed} could not be read (see the log)` : '';
  return (
    `run ${run.run_id} ${ended}: ${counted(run.done, 'product')} read, ` +
    `${counted(run.drift, 'difference')} corrected${missing}`
  );
}

function addressOf({ ops }: LocalConfig): string {
  return `${ops.host}:${ops.port}`;
}
