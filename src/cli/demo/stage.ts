/** The demo's course: first sync, faults with a kill in between, repair, verdict, and on at a terminal until Ctrl-C. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { compareWithTruth, pulledVariants, type Comparison } from './compare.ts';
import { startMirror, type MirrorProcess } from './mirror-process.ts';
import { NoAnswerError } from '../shared/ops-client.ts';
import { Story } from './story.ts';
import { apart, judge, summaryLine } from './verdict.ts';
import { colours } from '../shared/colours.ts';

export interface StageOptions {
  /** About how long until the verdict. Given, the demo ends with it. */
  readonly seconds?: number;
  readonly products: number;
  /** Stock changes per second. */
  readonly rate: number;
}

/** The same at each start, unless another program has them; those of `stock-mirror sandbox` and `serve`. */
export const USUAL = { store: 8790, webhooks: 8787, mirror: 8788 } as const;

const SECONDS = 40;
/** The part of it reserved for repair and comparison. */
const ENDING_MS = 18_000;
const TROUBLE_AT_LEAST_MS = 3_000;
const REST_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 200;
const SUMMARY_EVERY_MS = 5_000;
/** Changes a second after the verdict: few enough that a single loss can be watched. */
const CALM_RATE = 1;

const statusSchema = z.object({ state: z.string(), pending_reads: z.number() });
const runsSchema = z.object({ runs: z.array(z.object({ state: z.string() })) });

export class Stage {
  readonly #options: StageOptions;
  readonly #sandbox: Sandbox;
  readonly #databasePath: string;
  readonly #story: Story;
  readonly #write: (text: string) => void;
  /** Their levels are counted apart, from the beginning. */
  readonly #pulled: ReadonlySet<string>;
  readonly #startedMs = performance.now();
  /** Aborted when the mirror has ended unexpectedly, which ends the demo. */
  readonly #died = new AbortController();
  #mirror: MirrorProcess | null = null;

  constructor(
    options: StageOptions,
    sandbox: Sandbox,
    { databasePath, write }: { readonly databasePath: string; readonly write: (text: string) => void },
  ) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#databasePath = databasePath;
    this.#write = write;
    this.#pulled = pulledVariants(sandbox.truth);
    this.#story = new Story(sandbox, write);
  }

  /**
   * @param interrupted ends the faults early; the verdict still follows. After the verdict, it ends the demo.
   * @returns the exit code. @throws Error when the mirror ends unexpectedly or does not start.
   */
  async play(interrupted: AbortSignal, { goOn }: { readonly goOn: boolean }): Promise<number> {
    const story = this.#story;
    const beforeVerdict = (): void =>
      story.say(colours.bold('Ctrl-C: the store stops selling, and the mirror repairs what still differs'));
    interrupted.addEventListener('abort', beforeVerdict);
    let mirror = await this.#open();
    if (!(await this.#untilAtRest(mirror, { readsToo: true })))
      throw new Error('the first sync did not finish in time');
    const { levels, totals, differences } = this.#compare();
    story.say(
      `the mirror has read every product: of ${levels} stock levels and ${totals} totals, ${differences.length} differ`,
    );
    const stopCounting = story.begin();
    const summary = setInterval(() => {
      story.say(colours.dim(summaryLine(story.tally, this.#compare())));
    }, SUMMARY_EVERY_MS);
    try {
      mirror = await this.#makeTrouble(mirror, interrupted);
      this.#sandbox.traffic.stop();
      endFaults(this.#sandbox);
      await this.#sandbox.network.flush();
      story.say(colours.bold('the store has stopped selling, and the network works again'));
      const isAtRest = await this.#repair(mirror);
      const { text, exitCode } = judge(this.#compare(), story.tally, { isAtRest });
      this.#write(text);
      interrupted.removeEventListener('abort', beforeVerdict);
      if (goOn && !interrupted.aborted) await this.#goOn(interrupted);
      return exitCode;
    } finally {
      clearInterval(summary);
      stopCounting();
    }
  }

  async end(): Promise<void> {
    await this.#mirror?.kill('SIGTERM');
  }

  async #open(): Promise<MirrorProcess> {
    const { products } = this.#options;
    this.#write(
      `\n${colours.bold(`A simulated store with ${products} products, a mirror of its stock, and a bad network between them`)}\n\n`,
    );
    // Another program may take a port between the look and the start.
    const mirror = await this.#start(await freeOrAny(USUAL.webhooks), await freeOrAny(USUAL.mirror)).catch(
      () => this.#start(0, 0),
    );
    this.#sandbox.mirrorUrl = pageOf(mirror.opsPort);
    const places = [
      ['the store', this.#sandbox.port, USUAL.store, 'sell, order, lose a webhook'],
      ['the mirror', mirror.opsPort, USUAL.mirror, 'its stock, and how certain it is'],
    ] as const;
    for (const [name, port, usual, what] of places) {
      const instead = port === usual ? '' : ` (port ${usual} is in use by another program)`;
      this.#write(`  ${name.padEnd(15)} ${colours.cyan(pageOf(port))}   ${colours.dim(what)}${instead}\n`);
    }
    const { untold } = this.#compare();
    if (untold > 0) this.#write(`  ${'counted apart'.padEnd(15)} ${colours.dim(apart(untold))}\n`);
    this.#write('\n');
    return mirror;
  }

  async #makeTrouble(first: MirrorProcess, interrupted: AbortSignal): Promise<MirrorProcess> {
    beginFaults(this.#sandbox);
    this.#sandbox.traffic.start(this.#options.rate);
    this.#story.say(
      colours.bold(
        'the store sells; the network loses, duplicates and delays its webhooks; reads are slow or fail',
      ),
    );
    const { seconds = SECONDS } = this.#options;
    const leftMs = seconds * 1_000 - ENDING_MS - (performance.now() - this.#startedMs);
    const troubleMs = Math.max(TROUBLE_AT_LEAST_MS, leftMs);
    await this.#wait(troubleMs / 2, interrupted);
    const mirror = interrupted.aborted ? first : await this.#killAndRestart(first);
    await this.#wait(troubleMs / 2, interrupted);
    return mirror;
  }

  /** @param port the webhook port; like the other, 0 takes a free one. */
  async #start(port: number, opsPort: number): Promise<MirrorProcess> {
    const mirror = await startMirror({
      sandbox: this.#sandbox,
      databasePath: this.#databasePath,
      port,
      opsPort,
      onLog: (line) => this.#story.log(line),
      onDeath: (error) => this.#died.abort(error),
    });
    this.#mirror = mirror;
    this.#sandbox.webhookUrl = mirror.webhookUrl;
    return mirror;
  }

  /** At the same address, as in real operation. */
  async #killAndRestart(mirror: MirrorProcess): Promise<MirrorProcess> {
    this.#story.say(colours.bold('the mirror is killed (kill -9) and started again'));
    await mirror.kill('SIGKILL');
    const next = await this.#start(mirror.port, mirror.opsPort);
    this.#story.say(colours.green('the mirror is back, with every webhook that it had answered'));
    return next;
  }

  /** No later webhook can prove that the very last ones were lost: an operator's resync finds it. */
  async #repair(mirror: MirrorProcess): Promise<boolean> {
    // The request would join a run that began before the store stopped.
    await this.#untilAtRest(mirror, { readsToo: false });
    this.#story.say(
      'an operator starts a resync, because no later webhook would reveal that the very last ones were lost',
    );
    await mirror.ops.post('/api/resync', {}, z.object({ run_id: z.number() }));
    return this.#untilAtRest(mirror, { readsToo: true });
  }

  /** No run is under way. With `readsToo`, also no read is due and the mirror is live. @returns false on a timeout. */
  async #untilAtRest({ ops }: MirrorProcess, { readsToo }: { readonly readsToo: boolean }): Promise<boolean> {
    const isAtRest = async (): Promise<boolean> => {
      const answer = await ops.get('/api/runs', runsSchema);
      if (answer === null || answer.runs.some((run) => run.state === 'running')) return false;
      const status = await ops.get('/api/status', statusSchema);
      return status !== null && (!readsToo || (status.state === 'live' && status.pending_reads === 0));
    };
    const untilMs = performance.now() + REST_WITHIN_MS;
    while (performance.now() < untilMs) {
      try {
        if (await isAtRest()) return true;
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
      }
      await this.#wait(LOOK_EVERY_MS);
    }
    return false;
  }

  /** Sells on without faults, for as long as somebody looks. */
  async #goOn(interrupted: AbortSignal): Promise<void> {
    this.#write(
      `\nThe store sells on, without faults. Lose a webhook yourself: the button is on ${colours.cyan(pageOf(this.#sandbox.port))}\n` +
        `Its repair shows there, here and on ${colours.cyan(this.#sandbox.mirrorUrl ?? '')}. Ctrl-C ends the demo.\n\n`,
    );
    this.#story.examples = Number.POSITIVE_INFINITY;
    this.#sandbox.traffic.start(CALM_RATE);
    while (!interrupted.aborted) await this.#wait(SUMMARY_EVERY_MS, interrupted);
  }

  /** Ends early when interrupted. @throws the reason why the mirror ended. */
  async #wait(ms: number, interrupted?: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.#died.signal, ...(interrupted === undefined ? [] : [interrupted])]);
    await wait(ms, undefined, { signal }).catch(() => undefined);
    this.#died.signal.throwIfAborted();
  }

  #compare(): Comparison {
    return compareWithTruth(this.#databasePath, this.#sandbox.truth, this.#pulled);
  }
}

/** Webhooks are lost, duplicated, delayed and reordered; reads are stale, slow or fail. */
function beginFaults({ network, reads }: Sandbox): void {
  network.loss = 0.12;
  network.duplicate = 0.1;
  network.reorder = 0.15;
  network.delayMs = { min: 0, max: 400 };
  network.tail = { probability: 0.03, maxMs: 4_000 };
  reads.stale = { probability: 0.1, ageMs: 1_500 };
  reads.slow = { probability: 0.1, ms: 800 };
  reads.fail.serverError = 0.05;
}

function endFaults({ network, reads }: Sandbox): void {
  network.loss = 0;
  network.duplicate = 0;
  network.reorder = 0;
  network.delayMs = { min: 0, max: 0 };
  network.tail = { probability: 0, maxMs: 0 };
  reads.stale.probability = 0;
  reads.slow.probability = 0;
  reads.fail.serverError = 0;
}

function pageOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}

/** @returns the port, or 0 (any free one) when another program listens there. */
async function freeOrAny(port: number): Promise<number> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return port;
  } catch (error) {
    if (isInUse(error)) return 0;
    throw error;
  } finally {
    server.close();
  }
}

export function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
