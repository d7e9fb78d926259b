/** `stock-mirror resync`: handed to a running server and followed there, or done here when none runs (DESIGN §6). */
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { loadConfig, type Config } from '../config.ts';
import { openMirror } from '../compose.ts';
import { createLog } from '../log.ts';
import { viewRun } from '../ops/run-view.ts';
import { EXIT } from './exit-codes.ts';
import { opsClient, runViewSchema, type OpsClient } from './ops-client.ts';
import { createProgress, type Progress, type RunView } from './progress.ts';

interface ResyncOptions {
  readonly product?: string[];
  readonly detach?: boolean;
  readonly allowRemovals?: boolean;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 300;
/** A server that was killed is started again by whatever keeps it; its run goes on then. */
const SERVER_BACK_WITHIN_MS = 60_000;

export function resyncCommand(): Command {
  return new Command('resync')
    .description('read the whole catalogue, or single products, until the mirror equals the service')
    .option('--product <id...>', 'only these products', productIds)
    .option('--detach', 'hand the run to the server and return at once')
    .option(
      '--allow-removals',
      'let a large part of the catalogue be removed, if the service no longer has it',
    )
    .option('--json', 'print the ended run as JSON')
    .action(async (options: ResyncOptions) => {
      process.exitCode = await resync(options, loadConfig());
    });
}

async function resync(options: ResyncOptions, config: Config): Promise<number> {
  const ops = opsClient(config);
  const order = {
    ...(options.product === undefined ? {} : { product_ids: options.product }),
    ...(options.allowRemovals === true ? { allow_removals: true } : {}),
  };
  const accepted = await ops.post('/api/resync', order, z.object({ run_id: z.number() }));
  const progress = createProgress(options.json === true ? process.stderr : process.stdout);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  if (accepted === null) {
    if (options.detach === true) {
      throw new Error(
        `no server listens at ${config.ops.host}:${config.ops.port}: start one, or leave out --detach`,
      );
    }
    return finish(options, progress, await doHere(options, config, progress, interrupted.signal), HERE);
  }
  if (options.detach === true) {
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify(accepted)}\n`
        : `run ${accepted.run_id} has begun in the server\n`,
    );
    return EXIT.done;
  }
  return finish(
    options,
    progress,
    await follow(ops, accepted.run_id, progress, interrupted.signal),
    IN_SERVER,
  );
}

const HERE = 'stopped; the next resync or start of the service goes on where this one is';
const IN_SERVER = 'no longer followed; the run goes on in the server';

/** @param run null when interrupted. */
function finish(
  options: ResyncOptions,
  progress: Progress,
  run: RunView | null,
  onInterrupt: string,
): number {
  progress.end();
  if (run === null) {
    progress.say(onInterrupt);
    return EXIT.interrupted;
  }
  if (options.json === true) process.stdout.write(`${JSON.stringify(run)}\n`);
  else {
    const ended = run.state === 'done' ? 'done' : `failed: ${run.error ?? 'see the log'}`;
    progress.say(`run ${run.run_id} ${ended}: ${run.done} products read, ${run.drift} differences corrected`);
  }
  return run.state === 'done' ? EXIT.done : EXIT.failed;
}

async function follow(
  ops: OpsClient,
  runId: number,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  let goneSinceMs: number | null = null;
  while (!interrupted.aborted) {
    const run = await ops.get(`/api/runs/${runId}`, runViewSchema);
    if (run === null) {
      if (goneSinceMs === null) progress.say('the server is gone; its run goes on when it is back');
      goneSinceMs ??= performance.now();
      if (performance.now() - goneSinceMs > SERVER_BACK_WITHIN_MS) {
        throw new Error('the server did not come back: start it, or run resync again without it');
      }
    } else {
      goneSinceMs = null;
      progress.show(run);
      if (run.state !== 'running') return run;
    }
    await pause(LOOK_EVERY_MS, interrupted);
  }
  return null;
}

async function doHere(
  options: ResyncOptions,
  config: Config,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<RunView | null> {
  const died = new AbortController();
  // The bar speaks for itself; what goes wrong is still told, on stderr.
  const log = createLog('error', process.stderr);
  const mirror = await openMirror({ ...config, schedules: NO_SCHEDULES }, log, (error) => died.abort(error));
  try {
    mirror.reconciler.start();
    const begun = await mirror.reconciler.resync(options.product ?? null, {
      allowRemovals: options.allowRemovals === true,
    });
    let told: string | null = null;
    while (!interrupted.aborted) {
      died.signal.throwIfAborted();
      const run = await mirror.store.reader.ask('runById', { id: begun.id });
      if (run === null) throw new Error(`run ${begun.id} is not in the database any more`);
      progress.show(viewRun(run));
      if (run.state !== 'running') return viewRun(run);
      const { blocked } = mirror.reconciler;
      if (blocked?.kind === 'credentials' || blocked?.kind === 'wrong_store')
        throw new Error(blocked.message);
      if (blocked !== null && blocked.kind !== told) progress.say(`waiting: ${blocked.message}`);
      told = blocked?.kind ?? null;
      await pause(LOOK_EVERY_MS, interrupted);
    }
    return null;
  } finally {
    await mirror.close();
  }
}

const NO_SCHEDULES = { reconcileCron: null, resyncCron: null, timezone: null };

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function productIds(value: string, previous: string[] | undefined): string[] {
  if (!/^[0-9]+$/.test(value)) throw new InvalidArgumentError('A product id has digits only.');
  return [...(previous ?? []), value];
}
