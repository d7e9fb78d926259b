/**
 * `stock-mirror demo`: a simulated store and a real mirror beside it, with the network at its worst; ends with a
 * verdict that compares every figure with the store's truth.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import pc from 'picocolors';
import { z } from 'zod';
import { startSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { compareWithTruth, type Comparison } from './demo/compare.ts';
import { startMirror, type MirrorProcess } from './demo/mirror-process.ts';
import { createStory, type Story } from './demo/story.ts';
import { EXIT } from './exit-codes.ts';
import { decimal, whole } from './flags.ts';

interface DemoOptions {
  readonly seconds?: number;
  readonly products: number;
  readonly rate: number;
  readonly seed: number;
}

/** Kept of `--seconds` for repairing and comparing at the end. */
const ENDING_S = 18;
const SETTLE_WITHIN_MS = 90_000;
const SUMMARY_EVERY_MS = 5_000;
const DIFFERENCES_SHOWN = 20;

export function demoCommand(): Command {
  return new Command('demo')
    .description('a simulated store and a real mirror side by side, with faults; ends with a verdict')
    .option(
      '--seconds <number>',
      'end by itself after about this long; else Ctrl-C ends it',
      whole(10, 86_400),
    )
    .option('--products <count>', 'products in the store', whole(5, 100_000), 60)
    .option('--rate <changes>', 'stock changes per second', decimal(0.1, 1_000), 12)
    .option('--seed <number>', 'replays the same store and the same faults', whole(0, 4_294_967_295), 1)
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

async function demo(options: DemoOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'stock-mirror-demo-'));
  const sandbox = await startSandbox({ seed: options.seed, products: options.products });
  const stage = new Stage(options, sandbox, folder);
  try {
    return await stage.play();
  } finally {
    await stage.end();
    await sandbox.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

class Stage {
  readonly #options: DemoOptions;
  readonly #sandbox: Sandbox;
  readonly #folder: string;
  readonly #databasePath: string;
  readonly #story: Story = createStory((text) => process.stdout.write(text));
  readonly #ended = new AbortController();
  #mirror: MirrorProcess | null = null;

  constructor(options: DemoOptions, sandbox: Sandbox, folder: string) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#folder = folder;
    this.#databasePath = join(folder, 'stock-mirror.db');
  }

  async play(): Promise<number> {
    const startedMs = performance.now();
    const story = this.#story;
    const stopListening = story.listenTo(this.#sandbox);
    const { signal } = this.#ended;
    process.once('SIGINT', () => {
      story.say(pc.bold('ending: traffic stops, the mirror repairs what is left; Ctrl-C again ends at once'));
      this.#ended.abort();
      process.once('SIGINT', () => process.exit(EXIT.interrupted));
    });

    story.say(pc.bold(`a store with ${this.#options.products} products, and an empty mirror`));
    this.#mirror = await this.#start();
    await this.#untilQuiet(SETTLE_WITHIN_MS, 'first sync');
    story.say(pc.green(`the first sync is done: ${this.#describe()}`));

    this.#beBad();
    this.#sandbox.traffic.start(this.#options.rate);
    story.say(
      pc.bold(
        'the store sells; its webhooks are lost, doubled, delayed, overtaken; reads are stale, slow, fail',
      ),
    );
    const summary = setInterval(() => story.say(pc.dim(this.#describe())), SUMMARY_EVERY_MS);
    const trafficMs =
      this.#options.seconds === undefined
        ? null
        : Math.max(3_000, (this.#options.seconds - ENDING_S) * 1_000 - (performance.now() - startedMs));
    await wait(trafficMs === null ? 10_000 : trafficMs / 2, signal);
    if (!signal.aborted) await this.#killAndRestart();
    await wait(trafficMs === null ? null : trafficMs / 2, signal);
    clearInterval(summary);

    this.#sandbox.traffic.stop();
    this.#beGood();
    await this.#sandbox.network.flush();
    story.say(pc.bold(`traffic has stopped: ${this.#describe()}`));
    const settled = await this.#settle();
    stopListening();
    return this.#verdict(settled);
  }

  async end(): Promise<void> {
    await this.#mirror?.kill('SIGTERM');
  }

  #start(): Promise<MirrorProcess> {
    const before = this.#mirror;
    return startMirror({
      sandbox: this.#sandbox,
      folder: this.#folder,
      databasePath: this.#databasePath,
      // After a restart at the same address, as a real service would be.
      port: portOf(before?.webhookUrl),
      opsPort: portOf(before?.opsUrl),
      onLog: (line) => this.#story.log(line),
      onDeath: (message) => this.#story.say(pc.red(message)),
    }).then((mirror) => {
      this.#sandbox.webhookUrl = mirror.webhookUrl;
      return mirror;
    });
  }

  async #killAndRestart(): Promise<void> {
    this.#story.say(pc.bold('the mirror is killed (kill -9) and started again'));
    await this.#mirror?.kill('SIGKILL');
    this.#mirror = await this.#start();
    this.#story.say(pc.green('it is back, with every delivery it had answered'));
  }

  #beBad(): void {
    const { network, reads } = this.#sandbox;
    network.loss = 0.12;
    network.duplicate = 0.1;
    network.reorder = 0.15;
    network.delayMs = { min: 0, max: 400 };
    network.tail = { probability: 0.03, maxMs: 4_000 };
    reads.stale = { probability: 0.1, ageMs: 1_500 };
    reads.slow = { probability: 0.1, ms: 800 };
    reads.fail.serverError = 0.05;
  }

  #beGood(): void {
    const { network, reads } = this.#sandbox;
    network.loss = 0;
    network.duplicate = 0;
    network.reorder = 0;
    network.delayMs = { min: 0, max: 0 };
    network.tail = { probability: 0, maxMs: 0 };
    reads.stale.probability = 0;
    reads.slow.probability = 0;
    reads.fail.serverError = 0;
  }

  /** What the last deliveries carried, if they were lost, nothing proves: an operator's resync reads it. */
  async #settle(): Promise<boolean> {
    this.#story.say(
      'an operator asks for a resync, since nothing can prove that the very last deliveries were lost',
    );
    const response = await fetch(`${this.#mirror?.opsUrl ?? ''}api/resync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    if (!response.ok) throw new Error(`the mirror refused the resync: ${await response.text()}`);
    return this.#untilQuiet(SETTLE_WITHIN_MS, 'repair');
  }

  async #untilQuiet(withinMs: number, what: string): Promise<boolean> {
    const untilMs = performance.now() + withinMs;
    while (performance.now() < untilMs) {
      const status = await this.#status();
      if (status?.state === 'live' && status.pending_reads === 0) return true;
      await wait(200, null);
    }
    this.#story.say(pc.red(`the ${what} did not come to rest within ${withinMs / 1_000} s`));
    return false;
  }

  async #status(): Promise<z.infer<typeof statusSchema> | null> {
    try {
      const response = await fetch(`${this.#mirror?.opsUrl ?? ''}api/status`);
      return statusSchema.parse(await response.json());
    } catch {
      // Between a kill and the restart nobody answers.
      return null;
    }
  }

  #compare(): Comparison {
    return compareWithTruth(this.#databasePath, this.#sandbox.truth);
  }

  #describe(): string {
    const { levels, totals, differences } = this.#compare();
    const { tally } = this.#story;
    const wrong = differences.length === 0 ? 'all equal' : `${differences.length} differ at this moment`;
    return (
      `${levels} levels and ${totals} totals, ${wrong}; ` +
      `${tally.sent} deliveries, ${tally.lost + tally.notAnswered} lost, ${tally.duplicated} doubled, ` +
      `${tally.overtaken} overtaken; ${tally.drifts} figures repaired`
    );
  }

  #verdict(settled: boolean): number {
    const { differences, levels, totals, products } = this.#compare();
    const { tally } = this.#story;
    const lines = [
      '',
      `deliveries sent ${tally.sent}: ${tally.lost} lost, ${tally.notAnswered} found nobody listening, ` +
        `${tally.duplicated} sent twice, ${tally.overtaken} overtaken`,
      `breaks in a chain ${tally.gapsOpened}: ${tally.gapsClosedByLateDelivery} closed by a late delivery, ` +
        `${tally.lossesProved} proved as losses; figures repaired by reads: ${tally.drifts}`,
      `compared ${levels} stock levels, ${totals} totals, ${products} products with the store's truth`,
      ...differences.slice(0, DIFFERENCES_SHOWN).map((difference) => pc.red(`  ${difference}`)),
    ];
    const equal = differences.length === 0 && settled;
    lines.push(
      equal
        ? pc.bold(pc.green('VERDICT: equal. The mirror holds exactly what the store holds.'))
        : pc.bold(
            pc.red(
              `VERDICT: ${differences.length} figures differ${settled ? '' : ', and reads are still due'}.`,
            ),
          ),
      '',
    );
    process.stdout.write(lines.join('\n'));
    return equal ? EXIT.done : EXIT.failed;
  }
}

const statusSchema = z.object({ state: z.string(), pending_reads: z.number() });

function portOf(url: string | undefined): number {
  return url === undefined ? 0 : Number(new URL(url).port);
}

/** @param ms null: until the signal. */
async function wait(ms: number | null, signal: AbortSignal | null): Promise<void> {
  if (signal?.aborted === true) return;
  const done = new AbortController();
  const timer = ms === null ? undefined : setTimeout(() => done.abort(), ms);
  // Keeps the process alive while only a signal can end the wait.
  const alive = ms === null ? setInterval(() => undefined, 60_000) : undefined;
  await once(signal === null ? done.signal : AbortSignal.any([signal, done.signal]), 'abort');
  clearTimeout(timer);
  clearInterval(alive);
}
