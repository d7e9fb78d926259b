/**
 * `stock-mirror resync`: handed to a running mirror and followed there, or done here when none runs
 * (docs/operating.md#commands).
 */
import { Command } from 'commander';
import { z } from 'zod';
import { counted } from '../platform/counted.ts';
import { openMirror, type OpenMirror } from '../app/mirror.ts';
import { loadConfig, loadLocalConfig, type Config, type LocalConfig } from '../config/config.ts';
import { createLog } from '../platform/log.ts';
import { storeTrouble } from '../ops/condition/store-trouble.ts';
import { viewRun } from '../ops/shared/run-view.ts';
import { StoreError } from '../sqlite/errors.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { productIds } from './shared/flags.ts';
import { followInServer } from './resync/follow.ts';
import { interruptible } from './shared/interrupt.ts';
import { opsClient } from './shared/ops-client.ts';
import { createProgress, type Progress, type RunView } from './shared/progress.ts';
import { pause, watchRun, type Sight } from './resync/watch.ts';

interface ResyncOptions {
  readonly product?: string[];
  readonly detach?: boolean;
  readonly allowRemovals?: boolean;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 300;

const GOES_ON =
  'goes on: it began earlier, and does not read again the products that it had read before now. To be sure of this moment, ' +
  'run resync again when it has ended';

export function resyncCommand(): Command {
  const command = new Command('resync')
    .option('--product <id...>', 'only these products', productIds)
    .option('--detach', 'hand the run to the running mirror and return at once')
    .option(
      '--allow-removals',
      'allow a large part of the catalogue to be removed, if the store no longer has it',
    )
    .option('--json', 'print the finished run as JSON')
    .action(async (options: ResyncOptions) => {
      process.exitCode = await resync(options, loadLocalConfig());
    });
  return explained(command, {
    examples: [
      { what: 'the whole catalogue', run: 'stock-mirror resync' },
      { what: 'two products', run: 'stock-mirror resync --product 123 456' },
      { what: 'begun in the running mirror and left to it', run: 'stock-mirror resync --detach' },
    ],
  });
}

async function resync(options: ResyncOptions, config: LocalConfig): Promise<number> {
  const ops = opsClient(config.ops);
  const begin = () =>
    ops.post(
      '/api/resync',
      {
        ...(options.product === undefined ? {} : { product_ids: options.product }),
        ...(options.allowRemovals === true ? { allow_removals: true } : {}),
      },
      z.object({ run_id: z.number(), joined: z.boolean().optional() }),
    );
  const accepted = await begin();
  if (options.detach === true) {
    if (accepted === null) {
      throw new Error(`no mirror listens at ${addressOf(config)}: start it, or leave out --detach`);
    }
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify(accepted)}\n`
        : `run ${accepted.run_id} ${accepted.joined ? GOES_ON : 'has begun in the running mirror'}\n`,
    );
    return EXIT.done;
  }

  const progress = createProgress(options.json === true ? process.stderr : process.stdout);
  const interrupted = interruptible();
  if (accepted?.joined === true) progress.say(`run ${accepted.run_id} ${GOES_ON}`);
  let run;
  try {
    run =
      accepted === null
        ? await resyncHere(options, loadConfig(), progress, interrupted)
        : await followInServer({ ops, begin, progress }, accepted.run_id, interrupted);
  } finally {
    progress.end();
  }
  if (run === null) {
    progress.say(
      accepted === null
        ? 'stopped; the next resync, or the next start of the mirror, continues from here'
        : 'no longer followed; the run continues in the running mirror',
    );
    return EXIT.interrupted;
  }
  if (options.json === true) process.stdout.write(`${JSON.stringify(run)}\n`);
  else progress.say(summaryOf(run));
  return run.state === 'done' && run.failed === 0 ? EXIT.done : EXIT.failed;
}

/** @returns null when interrupted. */
async function resyncHere(
  options: ResyncOptions,
  config: Config,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  const died = new AbortController();
  const mirror = await openHere(config, (error) => died.abort(error));
  try {
    await mirror.store.mirror.opened;
    mirror.reconciler.start();
    const { id, joined } = await mirror.reconciler.resync(options.product ?? null, {
      allowRemovals: options.allowRemovals === true,
    });
    if (joined) progress.say(`run ${id} ${GOES_ON}`);
    return await watchRun(sightsHere(mirror, { id, died: died.signal, interrupted }), progress);
  } finally {
    await mirror.close();
  }
}

async function* sightsHere(
  { store, reconciler }: OpenMirror,
  {
    id,
    died,
    interrupted,
  }: { readonly id: number; readonly died: AbortSignal; readonly interrupted: AbortSignal },
): AsyncGenerator<Sight> {
  while (!interrupted.aborted) {
    died.throwIfAborted();
    const run = await store.reader.ask('runById', { id });
    if (run === null) throw new Error(`run ${id} is no longer in the database`);
    const { blocked } = reconciler;
    yield { run: viewRun(run), blocked, causes: blocked === null ? [] : [storeTrouble(blocked)] };
    await pause(LOOK_EVERY_MS, interrupted);
  }
}

async function openHere(config: Config, onDeath: (error: Error) => void): Promise<OpenMirror> {
  // The bar shows the progress. Problems are still printed, on stderr.
  const log = createLog('error', process.stderr);
  const schedules = { ...config.schedules, reconcileCron: null, resyncCron: null };
  try {
    return await openMirror({ config: { ...config, schedules }, log, onDeath });
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'in_use') throw error;
    throw new Error(
      `another stock-mirror uses ${config.database.path}, and no mirror listens at ${addressOf(config)}: ` +
        'if it is a running mirror, set OPS_HOST and OPS_PORT to its values; if it is another resync, wait until it ends',
      { cause: error },
    );
  }
}

function summaryOf(run: RunView): string {
  const ended = run.state === 'done' ? 'done' : `failed: ${run.error ?? 'see the log'}`;
  const missing = run.failed > 0 ? `, ${run.failed} could not be read (see the log)` : '';
  return `run ${run.run_id} ${ended}: ${counted(run.done, 'product')} read, ${counted(run.drift, 'difference')} corrected${missing}`;
}

function addressOf({ ops }: LocalConfig): string {
  return `${ops.host}:${ops.port}`;
}
