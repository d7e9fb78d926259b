import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { runsUnattended } from '../config/config.ts';
import { counted } from '../platform/amounts.ts';
import { faultsSchema, readFaults, setFaults } from '../sandbox/control/faults.ts';
import { startSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { Comparison } from './demo/compare.ts';
import { DATABASE, startMirror, type MirrorProcess } from './demo/mirror-process.ts';
import { soldWords, Story, write } from './demo/story.ts';
import { colours } from './shared/colours.ts';
import { EXIT } from './shared/exit-codes.ts';
import { explained } from './shared/explained.ts';
import { decimal, whole } from './shared/flags.ts';
import { NoAnswerError, type OpsClient } from './shared/ops-client.ts';

interface DemoOptions {
  readonly seconds?: number;
  readonly products: number;
  readonly rate: number;
  readonly seed: number;
}

/** The ports of `sandbox` and `serve`; if another program has them, free ones. */
const PORTS = { store: 8790, webhooks: 8787, ops: 8788 };
const SECONDS = 40;
const ENDING_MS = 18_000;
const TROUBLE_AT_LEAST_MS = 3_000;
const REST_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 200;
const SUMMARY_EVERY_MS = 5_000;
/** Changes per second after the verdict: slow enough to watch a single loss. */
const CALM_RATE = 1;
const DIFFERENCES_SHOWN = 20;

const BAD_NETWORK: z.output<typeof faultsSchema> = {
  loss: 0.12,
  duplicate: 0.1,
  reorder: 0.15,
  delay_ms: { min: 0, max: 400 },
  tail: { probability: 0.03, max_ms: 4_000 },
  stale: { probability: 0.1, age_ms: 1_500 },
  slow: { probability: 0.1, ms: 800 },
  fail: { server_error: 0.05 },
};

const statusSchema = z.object({ state: z.string(), pending_reads: z.number() });
const resyncSchema = z.object({ joined: z.boolean().optional() });
const runsSchema = z.object({ runs: z.array(z.object({ state: z.string() })) });

export function createCommand(): Command {
  const command = new Command('demo')
    .option(
      '--seconds <number>',
      'end after about this time; without it, the verdict comes after 40 s, and Ctrl-C ends the demo',
      whole(10, 86_400),
    )
    .option('--products <count>', 'products in the store', whole(5, 100_000), 60)
    .option('--rate <changes>', 'stock changes per second', decimal(0.1, 1_000), 12)
    .option('--seed <number>', 'the same seed gives the same store and faults', whole(0, 4_294_967_295), 1)
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
  return explained(command, {
    examples: [
      { what: 'a verdict after 40 seconds', run: 'stock-mirror demo' },
      { what: 'a larger store', run: 'stock-mirror demo --products 500 --rate 50' },
    ],
  });
}

async function demo({ seed, products, rate, seconds }: DemoOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'stock-mirror-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(EXIT.failed));
  }
  /** Ends the faults early; after the verdict, ends the demo. */
  const interrupted = new AbortController();
  process.once('SIGINT', () => {
    interrupted.abort();
    process.once('SIGINT', () => process.exit(EXIT.interrupted));
  });
  const died = new AbortController();
  const wait = async (ms: number, until?: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([died.signal, ...(until === undefined ? [] : [until])]);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    died.signal.throwIfAborted();
  };

  const open = (port: number) => startSandbox({ seed, products, port });
  const sandbox = await open(PORTS.store).catch(() => open(0));
  const story = new Story(sandbox, join(folder, DATABASE));
  const start = (port: number, opsPort: number): Promise<MirrorProcess> =>
    startMirror({
      sandbox,
      folder,
      port,
      opsPort,
      onLog: (line) => story.log(line),
      onDeath: (error) => died.abort(error),
    });
  let mirror: MirrorProcess | null = null;
  let summary: NodeJS.Timeout | undefined;
  try {
    const title = `A simulated store with ${products} products, a mirror of its stock, and a bad network between them`;
    write(`\n${colours.bold(title)}\n`);
    mirror = await start(PORTS.webhooks, PORTS.ops).catch(() => start(0, 0));
    const mirrorUrl = `http://127.0.0.1:${mirror.opsPort}/`;
    write(`  the store   ${colours.cyan(`${sandbox.baseUrl}/`)}\n  the mirror  ${colours.cyan(mirrorUrl)}\n`);
    await untilLive(mirror.ops, sandbox, wait);
    story.say(`the mirror has read every product: ${soldWords(story.compare())}`);

    const calm = faultsSchema.parse(readFaults(sandbox));
    setFaults(sandbox, BAD_NETWORK);
    sandbox.traffic.start(rate);
    summary = setInterval(() => story.say(colours.dim(story.summary())), SUMMARY_EVERY_MS);
    story.say(
      colours.bold('stock changes; webhooks are lost, duplicated and delayed; reads are slow or fail'),
    );
    const troubleMs = (seconds ?? SECONDS) * 1_000 - ENDING_MS - story.ageMs;
    const halfMs = Math.max(TROUBLE_AT_LEAST_MS, troubleMs) / 2;
    await wait(halfMs, interrupted.signal);
    if (!interrupted.signal.aborted) {
      story.say(colours.bold('the mirror is killed (kill -9) and started again'));
      await mirror.kill('SIGKILL');
      mirror = await start(mirror.port, mirror.opsPort);
      story.say(colours.green('the mirror is back, with every webhook that it had acknowledged'));
    }
    await wait(halfMs, interrupted.signal);
    if (interrupted.signal.aborted) {
      story.say(
        colours.bold('Ctrl-C: stock stops changing, and the mirror repairs the remaining differences'),
      );
    }
    sandbox.traffic.stop();
    setFaults(sandbox, calm);
    await sandbox.network.flush();
    story.say(colours.bold('stock has stopped changing, and the network works again'));
    story.say('a resync starts, because no later webhook can reveal the loss of the last ones');
    const isAtRest = await resync(mirror.ops, wait);
    const { text, exitCode } = judge(story.compare(), isAtRest);
    write(`\n${story.totals()}\n${text}`);
    const isWatched = process.stdout.isTTY && process.stdin.isTTY && !runsUnattended();
    if (seconds === undefined && isWatched) {
      write(
        `\nStock continues to change, without faults. To lose a webhook and see it repaired, here and on ${mirrorUrl}, type\n` +
          `  curl -H 'Content-Type: application/json' -d '{}' ${sandbox.baseUrl}/sandbox/lose-webhook\n` +
          'Ctrl-C ends the demo.\n',
      );
      story.examples = Number.POSITIVE_INFINITY;
      sandbox.traffic.start(CALM_RATE);
      while (!interrupted.signal.aborted) await wait(SUMMARY_EVERY_MS, interrupted.signal);
    }
    return exitCode;
  } finally {
    clearInterval(summary);
    await mirror?.kill('SIGTERM');
    await sandbox.stop();
  }
}

type Wait = (ms: number) => Promise<void>;

async function untilLive(ops: OpsClient, sandbox: Sandbox, wait: Wait): Promise<void> {
  const isRead = await comesToRest(ops, wait, ['catching_up']);
  // Until a webhook has arrived, nothing shows that the store reaches the mirror, and its state is not `live`.
  changeOneQuantity(sandbox);
  if (!isRead || !(await comesToRest(ops, wait))) throw new Error('the first read did not finish in time');
}

/** @returns whether the mirror came to rest after a run that began now. */
async function resync(ops: OpsClient, wait: Wait): Promise<boolean> {
  for (;;) {
    const run = await ops.post('/api/resync', {}, resyncSchema);
    const isAtRest = await comesToRest(ops, wait);
    // A request may join a run that began before the store stopped.
    if (run?.joined !== true) return isAtRest;
  }
}

function changeOneQuantity({ truth, operations }: Sandbox): void {
  // The bundles of a component would be read some seconds later.
  const variant = truth.variants.find(
    ({ kind, bundledBy, levels, deleted }) =>
      kind === 'own' && bundledBy.size === 0 && levels.length > 0 && !deleted,
  );
  const level = variant?.levels[0];
  if (variant === undefined || level === undefined) {
    throw new Error('the simulated store has no stock that is in no bundle');
  }
  operations.add({ variantId: variant.id, warehouseId: level.warehouseId, by: 1 });
}

async function comesToRest(
  ops: OpsClient,
  wait: Wait,
  states: readonly string[] = ['live'],
): Promise<boolean> {
  const isAtRest = async (): Promise<boolean> => {
    const answer = await ops.get('/api/runs', runsSchema);
    if (answer === null || answer.runs.some((run) => run.state === 'running')) return false;
    const status = await ops.get('/api/status', statusSchema);
    return status !== null && states.includes(status.state) && status.pending_reads === 0;
  };
  const untilMs = performance.now() + REST_WITHIN_MS;
  while (performance.now() < untilMs) {
    try {
      if (await isAtRest()) return true;
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
    }
    await wait(LOOK_EVERY_MS);
  }
  return false;
}

/** @param isAtRest no read was due when the values were compared. */
export function judge(comparison: Comparison, isAtRest: boolean) {
  const { differences, values, leftOut } = comparison;
  const lines = [
    soldWords(comparison),
    `${values} stock levels, totals and products compared with the store's; left out: ` +
      `${leftOut} levels of pulled products, which only webhooks report`,
    ...differences.slice(0, DIFFERENCES_SHOWN).map((line) => colours.red(line)),
  ];
  if (differences.length > DIFFERENCES_SHOWN)
    lines.push(`and ${differences.length - DIFFERENCES_SHOWN} more`);
  const isEqual = differences.length === 0 && isAtRest;
  const verdict = isEqual
    ? 'equal. The mirror has exactly the store’s values.'
    : `${isAtRest ? 'different' : 'unfinished. The mirror still has products to read'}: ` +
      `${counted(differences.length, 'difference')}.`;
  lines.push(colours.bold((isEqual ? colours.green : colours.red)(`VERDICT: ${verdict}`)));
  return { text: lines.join('\n'), exitCode: isEqual ? EXIT.done : EXIT.failed };
}
