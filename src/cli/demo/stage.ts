/** The demo's course: first sync, faults with a kill in between, repair, verdict. */
import { once } from 'node:events';
import { z } from 'zod';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { compareWithTruth, missedVariants, type Comparison } from './compare.ts';
import { beginFaults, endFaults } from './faults.ts';
import { startMirror, type MirrorProcess } from './mirror-process.ts';
import { untilAtRest } from './rest.ts';
import { Story } from './story.ts';
import { judge } from './verdict.ts';
import { colours } from '../colours.ts';

export interface StageOptions {
  /** About how long the demo may take; without it, the faults go on until Ctrl-C. */
  readonly seconds?: number;
  readonly products: number;
  /** Stock changes per second. */
  readonly rate: number;
}

/** The part of `seconds` reserved for repair and comparison. */
const ENDING_MS = 18_000;
const TROUBLE_AT_LEAST_MS = 3_000;
const KILL_AFTER_MS = 10_000;
const REST_WITHIN_MS = 90_000;
const SUMMARY_EVERY_MS = 5_000;

export class Stage {
  readonly #options: StageOptions;
  readonly #sandbox: Sandbox;
  readonly #databasePath: string;
  readonly #story: Story;
  readonly #startedMs = performance.now();
  /** Set when the mirror has ended unexpectedly, which ends the demo. */
  readonly #died = new AbortController();
  #mirror: MirrorProcess | null = null;

  constructor(options: StageOptions, sandbox: Sandbox, databasePath: string) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#databasePath = databasePath;
    this.#story = new Story(sandbox, (text) => process.stdout.write(text));
  }

  /**
   * * @param interrupted ends the faults early; the verdict still follows.
   * @returns the exit code. @throws Error when the mirror ends unexpectedly or does not start.
   */
  async play(interrupted: AbortSignal): Promise<number> {
    const story = this.#story;
    interrupted.addEventListener('abort', () =>
      story.say(colours.bold('Ctrl-C: the store stops selling, and the mirror repairs what still differs')),
    );
    story.say(colours.bold(`a store with ${this.#options.products} products, and an empty mirror`));
    let mirror = await this.#start(0, 0);
    if (!(await this.#untilAtRest(mirror, { readsToo: true })))
      throw new Error('the first sync did not finish in time');
    story.say(colours.green(`the mirror has read every product: ${describe(this.#compare())}`));

    const stopTelling = story.begin();
    beginFaults(this.#sandbox);
    this.#sandbox.traffic.start(this.#options.rate);
    story.say(
      colours.bold(
        'the store sells; the network loses, duplicates and delays its webhooks; reads are slow or fail',
      ),
    );
    const summary = setInterval(() => story.say(colours.dim(this.#describe())), SUMMARY_EVERY_MS);
    try {
      const troubleMs = this.#troubleMs();
      await this.#wait(troubleMs === null ? KILL_AFTER_MS : troubleMs / 2, interrupted);
      if (!interrupted.aborted) mirror = await this.#killAndRestart(mirror);
      await this.#wait(troubleMs === null ? null : troubleMs / 2, interrupted);
    } finally {
      clearInterval(summary);
    }

    this.#sandbox.traffic.stop();
    endFaults(this.#sandbox);
    await this.#sandbox.network.flush();
    story.say(colours.bold(`the store has stopped selling: ${this.#describe()}`));
    const isAtRest = await this.#repair(mirror);
    stopTelling();
    const { text, exitCode } = judge(this.#compare(), story.tally, { isAtRest });
    process.stdout.write(text);
    return exitCode;
  }

  async end(): Promise<void> {
    await this.#mirror?.kill('SIGTERM');
  }

  /** @param port the webhook port; like the others, 0 takes a free one. */
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
    await untilAtRest(mirror.ops, { readsToo: false, withinMs: REST_WITHIN_MS }, this.#died.signal);
    this.#story.say(
      'an operator starts a resync, because no later webhook would reveal that the very last ones were lost',
    );
    await mirror.ops.post('/api/resync', {}, z.object({ run_id: z.number() }));
    return this.#untilAtRest(mirror, { readsToo: true });
  }

  #untilAtRest(mirror: MirrorProcess, { readsToo }: { readonly readsToo: boolean }): Promise<boolean> {
    return untilAtRest(mirror.ops, { readsToo, withinMs: REST_WITHIN_MS }, this.#died.signal);
  }

  /** How long the faults last; null: until Ctrl-C. */
  #troubleMs(): number | null {
    const { seconds } = this.#options;
    if (seconds === undefined) return null;
    const leftMs = seconds * 1_000 - ENDING_MS - (performance.now() - this.#startedMs);
    return Math.max(TROUBLE_AT_LEAST_MS, leftMs);
  }

  /** @param ms null: until interrupted. @throws the reason why the mirror ended. */
  async #wait(ms: number | null, interrupted: AbortSignal): Promise<void> {
    const passed = new AbortController();
    // Any timer keeps the process alive while only a signal can end the wait.
    const timer = setInterval(() => ms !== null && passed.abort(), ms ?? 60_000);
    const end = AbortSignal.any([interrupted, this.#died.signal, passed.signal]);
    if (!end.aborted) await once(end, 'abort');
    clearInterval(timer);
    this.#died.signal.throwIfAborted();
  }

  #compare(): Comparison {
    return compareWithTruth(
      this.#databasePath,
      this.#sandbox.truth,
      missedVariants(this.#sandbox.deliveries),
    );
  }

  #describe(): string {
    const { tally } = this.#story;
    return (
      `${tally.sent} webhooks sent, ${tally.lost + tally.missed} of them lost, ${tally.duplicated} duplicated, ` +
      `${tally.late} late; ${tally.repaired} figures corrected; now ${describe(this.#compare())}`
    );
  }
}

function describe({ levels, totals, differences }: Comparison): string {
  const figures = levels + totals;
  return differences.length === 0
    ? `all ${figures} figures equal the store's`
    : `${differences.length} of ${figures} figures differ`;
}
