/** `stock-mirror resync`: asks the running mirror for a run, and shows its progress (docs/operating.md#resync). */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { loadLocalConfig, type LocalConfig } from '../config/config.ts';
import { hasTrait, type Cause, type CauseCode } from '../ops/state/causes.ts';
import { counted } from '../platform/amounts.ts';
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
  readonly by?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

interface FollowedRun {
  readonly run: RunView;
  readonly hold: Hold | null;
}

type Hold = Pick<Cause, 'severity' | 'owner' | 'message' | 'remedy'> & { readonly code: CauseCode | 'away' };

const MIRROR_AWAY: Hold = {
  code: 'away',
  severity: 'warning',
  owner: 'mirror',
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
    .option('--detach', 'start the run, and return at once')
    .option(
      '--allow-removals',
      'remove what the store no longer shows and the mass-removal guard holds back; with --product, only of these ' +
        'products',
    )
    .option('--by <name>', 'with --allow-removals: who decided')
    .option('--reason <text>', 'with --allow-removals: why, for the log and the run')
    .option('--json', 'print the finished run as JSON')
    .action(async (options: ResyncOptions, command: Command) => {
      const { allowRemovals, by, reason } = options;
      const given = [allowRemovals, by, reason].filter((option) => option !== undefined);
      if (given.length > 0 && given.length < 3) {
        command.error('error: --allow-removals, --by and --reason need each other');
      }
      process.exitCode = await resync(options, loadLocalConfig());
    });
  return explained(command, {
    examples: [
      { what: 'the whole catalogue', run: 'stock-mirror resync' },
      { what: 'two products', run: 'stock-mirror resync --product 123 456' },
      { what: 'the whole catalogue, without waiting', run: 'stock-mirror resync --detach' },
      {
        what: 'remove a product that the guard holds back',
        run: 'stock-mirror resync --product 123 --allow-removals --by Ana --reason "end of season"',
      },
    ],
  });
}

async function resync(options: ResyncOptions, config: LocalConfig): Promise<number> {
  const ops = opsClient(config.ops);
  const { run_id: runId, joined } = await request(options, config, ops);
  if (options.detach === true) {
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify({ run_id: runId, joined })}\n`
        : `run ${runId} ${joined ? CONTINUES : 'has begun in the mirror'}\n`,
    );
    return EXIT.done;
  }

  const progress = createProgress(options.json === true ? process.stderr : process.stdout);
  if (joined) progress.say(`run ${runId} ${CONTINUES}`);
  const run = await follow({ look: () => look(ops, runId), progress, interrupted: interruptible() });
  if (run === null) {
    progress.say('no longer shown; the run continues in the mirror');
    return EXIT.interrupted;
  }
  if (options.json === true) process.stdout.write(`${JSON.stringify(run)}\n`);
  else progress.say(summaryOf(run));
  return run.state === 'done' && run.failed === 0 ? EXIT.done : EXIT.failed;
}

const acceptedSchema = z.object({ run_id: z.number(), joined: z.boolean() });

async function request(
  { product, allowRemovals, by, reason }: ResyncOptions,
  config: LocalConfig,
  ops: OpsClient,
): Promise<z.infer<typeof acceptedSchema>> {
  const decision = allowRemovals === true ? { by, reason } : undefined;
  const body = { product_ids: product, allow_removals: decision };
  const isServed = (await statusOfOwn(config, ops)) !== null;
  const accepted = isServed ? await ops.post('/api/resync', body, acceptedSchema) : null;
  if (accepted !== null) return accepted;
  throw new Error(
    `no mirror listens at ${config.ops.host}:${config.ops.port}: start it with \`stock-mirror serve\`, ` +
      'or set OPS_HOST and OPS_PORT to its values',
  );
}

async function look(ops: OpsClient, runId: number): Promise<FollowedRun | null> {
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

interface FollowDeps {
  readonly look: () => Promise<FollowedRun | null>;
  readonly progress: Progress;
  readonly interrupted: AbortSignal;
}

/**
 * Shows the run's progress or obstacle until it has ended; null when interrupted.
 * @throws Error if only an operator can let it continue, or the mirror stays away.
 */
export async function follow({ look, progress, interrupted }: FollowDeps): Promise<RunView | null> {
  let said: string | null = null;
  let seenAtMs = performance.now();
  while (!interrupted.aborted) {
    const seen = await look();
    if (seen !== null) seenAtMs = performance.now();
    else if (performance.now() - seenAtMs > BACK_WITHIN_MS) {
      throw new Error('the mirror did not come back: start it, then run resync again');
    }
    const { run, hold } = seen ?? { run: null, hold: MIRROR_AWAY };
    if (run !== null && run.state !== 'running') {
      progress.show(run);
      return run;
    }
    const text = hold && `${hold.message} ${hold.remedy}`;
    if (hold?.severity === 'critical' && hold.owner === 'operator')
      throw new Error(`${hold.message} ${hold.remedy}`);
    if (run !== null && hold === null) progress.show(run);
    if (hold !== null && hold.code !== said) progress.say(`waiting: ${text}`);
    said = hold?.code ?? null;
    // Rejects only when interrupted, which ends the loop.
    await sleep(LOOK_EVERY_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
  return null;
}

function summaryOf(run: RunView): string {
  const ended = run.state === 'done' ? 'done' : `failed: ${run.error ?? 'see the log'}`;
  const missing = run.failed > 0 ? `, ${run.failed} could not be read (see the log)` : '';
  const removed = run.removed > 0 ? `, ${run.removed} removed` : '';
  return (
    `run ${run.run_id} ${ended}: ${counted(run.done, 'product')} read, ` +
    `${counted(run.drift, 'difference')} corrected${removed}${missing}`
  );
}
