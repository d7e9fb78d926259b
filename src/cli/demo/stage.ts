/** The demo's course: first sync, faults with a kill in between, repair, verdict, and on while somebody looks. */
import { once } from 'node:events';
import { z } from 'zod';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { boardLine, boardLines, type Standing } from './board.ts';
import { compareWithTruth, pulledVariants, type Comparison } from './compare.ts';
import { beginFaults, endFaults } from './faults.ts';
import { startMirror, type MirrorProcess } from './mirror-process.ts';
import { freeOrAny, USUAL } from './ports.ts';
import { untilAtRest } from './rest.ts';
import type { Screen } from '../shared/screen.ts';
import { Story } from './story.ts';
import { apart, judge } from './verdict.ts';
import { colours } from '../shared/colours.ts';

export interface StageOptions {
  /** About how long until the verdict. Given, the demo ends with it. */
  readonly seconds?: number;
  readonly products: number;
  /** Stock changes per second. */
  readonly rate: number;
  /** Prints every event instead of a board. */
  readonly verbose?: boolean;
}

/** Where the demo is shown. */
interface House {
  readonly screen: Screen;
  /** Somebody sits at the terminal that it runs in. */
  readonly isAtTerminal: boolean;
  /** The screen shows a board. */
  readonly isDrawn: boolean;
}

const SECONDS = 40;
/** The part of it reserved for repair and comparison. */
const ENDING_MS = 18_000;
const TROUBLE_AT_LEAST_MS = 3_000;
const REST_WITHIN_MS = 90_000;
const SUMMARY_EVERY_MS = 5_000;
const LOOK_EVERY_MS = 500;
/** Comparing takes at most this part of the time: it grows with the catalogue. */
const LOOKING_SHARE = 0.1;
/** Changes a second after the verdict: so few that a single loss can be watched. */
const CALM_RATE = 1;
/** An open page asks every second, but not while another one is in front of it, such as the mirror's. */
const PAGE_OPEN_MS = 90_000;

export class Stage {
  readonly #options: StageOptions;
  readonly #sandbox: Sandbox;
  readonly #databasePath: string;
  readonly #story: Story;
  readonly #house: House;
  /** Their levels are counted apart, from the beginning. */
  readonly #pulled: ReadonlySet<string>;
  readonly #startedMs = performance.now();
  /** Set when the mirror has ended unexpectedly, which ends the demo. */
  readonly #died = new AbortController();
  #mirror: MirrorProcess | null = null;
  #phase = '';

  constructor(options: StageOptions, sandbox: Sandbox, databasePath: string, house: House) {
    this.#options = options;
    this.#sandbox = sandbox;
    this.#databasePath = databasePath;
    this.#house = house;
    this.#pulled = pulledVariants(sandbox.truth);
    this.#story = new Story(sandbox, (text) => house.screen.say(text), {
      tellsAll: options.verbose === true,
    });
  }

  /**
   * @param interrupted ends the faults early; the verdict still follows. After the verdict, it ends the demo.
   * @returns the exit code. @throws Error when the mirror ends unexpectedly or does not start.
   */
  async play(interrupted: AbortSignal): Promise<number> {
    const story = this.#story;
    const beforeVerdict = (): void =>
      story.say(colours.bold('Ctrl-C: the store stops selling, and the mirror repairs what still differs'));
    interrupted.addEventListener('abort', beforeVerdict);
    let mirror = await this.#open();
    if (!(await this.#untilAtRest(mirror, { readsToo: true })))
      throw new Error('the first sync did not finish in time');
    story.say(colours.green(`the mirror has read every product: ${describe(this.#compare())}`));

    const stopTelling = story.begin();
    const stopLooking = this.#keepLooking();
    try {
      mirror = await this.#makeTrouble(mirror, interrupted);
      this.#sandbox.traffic.stop();
      this.#phase = 'the store has stopped; the mirror finishes what it reads';
      endFaults(this.#sandbox);
      await this.#sandbox.network.flush();
      story.say(colours.bold('the store has stopped selling, and the network is well again'));
      const isAtRest = await this.#repair(mirror);
      this.#phase = 'the verdict:';
      const { text, exitCode } = judge(this.#compare(), story.tally, { isAtRest });
      this.#draw();
      this.#house.screen.leave();
      this.#house.screen.say(text);
      interrupted.removeEventListener('abort', beforeVerdict);
      if (!interrupted.aborted) await this.#goOn(interrupted);
      return exitCode;
    } finally {
      stopLooking();
      stopTelling();
    }
  }

  async end(): Promise<void> {
    await this.#mirror?.kill('SIGTERM');
  }

  /** Says what there is to see, and where. */
  async #open(): Promise<MirrorProcess> {
    const { products } = this.#options;
    const { screen } = this.#house;
    screen.say(
      `\n${colours.bold(`A simulated store with ${products} products, a mirror of its stock, and a bad network between them`)}\n\n`,
    );
    const mirror = await this.#startFirst();
    this.#sandbox.mirrorUrl = pageOf(mirror.opsPort);
    const places = [
      ['the store', this.#sandbox.port, USUAL.store, 'sell, order, lose a webhook'],
      ['the mirror', mirror.opsPort, USUAL.mirror, 'what it holds, and how certain it is'],
    ] as const;
    for (const [name, port, usual, what] of places) {
      const instead = port === usual ? '' : ` (port ${usual} is in use by another program)`;
      screen.say(`  ${name.padEnd(15)} ${colours.cyan(pageOf(port))}   ${colours.dim(what)}${instead}\n`);
    }
    const { untold } = this.#compare();
    if (untold > 0) screen.say(`  ${'counted apart'.padEnd(15)} ${colours.dim(apart(untold))}\n`);
    screen.say('\n');
    return mirror;
  }

  /** Another program may take a port between the look at it and the start. */
  async #startFirst(): Promise<MirrorProcess> {
    const ports = async () => [await freeOrAny(USUAL.webhooks), await freeOrAny(USUAL.mirror)] as const;
    const [port, opsPort] = await ports();
    try {
      return await this.#start(port, opsPort);
    } catch (error) {
      const [portNow, opsPortNow] = await ports();
      if (portNow === port && opsPortNow === opsPort) throw error;
      return this.#start(portNow, opsPortNow);
    }
  }

  async #makeTrouble(first: MirrorProcess, interrupted: AbortSignal): Promise<MirrorProcess> {
    const story = this.#story;
    beginFaults(this.#sandbox);
    this.#sandbox.traffic.start(this.#options.rate);
    story.say(
      colours.bold(
        'the store sells; the network loses, duplicates and delays its webhooks; reads are slow or fail',
      ),
    );
    const troubleMs = this.#troubleMs();
    this.#phase = 'the store sells over a bad network; soon the mirror is killed';
    await this.#wait(troubleMs / 2, interrupted);
    const mirror = interrupted.aborted ? first : await this.#killAndRestart(first);
    this.#phase = 'the mirror reads what it may have missed, while the store sells on';
    await this.#wait(troubleMs / 2, interrupted);
    return mirror;
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
    this.#phase = 'the mirror is down, and the store sells on';
    await mirror.kill('SIGKILL');
    const next = await this.#start(mirror.port, mirror.opsPort);
    this.#story.say(colours.green('the mirror is back, with every webhook that it had answered'));
    return next;
  }

  /** No later webhook can prove that the very last ones were lost: an operator's resync finds it. */
  async #repair(mirror: MirrorProcess): Promise<boolean> {
    // The request would join a run that began before the store stopped.
    await untilAtRest(mirror.ops, { readsToo: false, withinMs: REST_WITHIN_MS }, this.#died.signal);
    this.#phase = 'the mirror reads every product once more, then all figures are compared';
    this.#story.say(
      'an operator starts a resync, because no later webhook would reveal that the very last ones were lost',
    );
    await mirror.ops.post('/api/resync', {}, z.object({ run_id: z.number() }));
    return this.#untilAtRest(mirror, { readsToo: true });
  }

  #untilAtRest(mirror: MirrorProcess, { readsToo }: { readonly readsToo: boolean }): Promise<boolean> {
    return untilAtRest(mirror.ops, { readsToo, withinMs: REST_WITHIN_MS }, this.#died.signal);
  }

  /** How long the faults last. */
  #troubleMs(): number {
    const { seconds = SECONDS } = this.#options;
    const leftMs = seconds * 1_000 - ENDING_MS - (performance.now() - this.#startedMs);
    return Math.max(TROUBLE_AT_LEAST_MS, leftMs);
  }

  /** Sells on without faults, for as long as somebody looks. */
  async #goOn(interrupted: AbortSignal): Promise<void> {
    const { screen, isAtTerminal } = this.#house;
    const isPageOpen = (): boolean => {
      const { pageShownAtMs, clock } = this.#sandbox;
      return pageShownAtMs !== null && clock.baseNow() - pageShownAtMs < PAGE_OPEN_MS;
    };
    if (this.#options.seconds !== undefined || !(isAtTerminal || isPageOpen())) return;
    const end = isAtTerminal ? 'Ctrl-C ends the demo' : 'The demo ends when the page is closed, or by Ctrl-C';
    screen.say(
      `\nThe store sells on, without faults. Lose a webhook yourself: the button is on ${colours.cyan(pageOf(this.#sandbox.port))}\n` +
        `Its repair shows there, here and on ${colours.cyan(this.#sandbox.mirrorUrl ?? '')}. ${end}.\n`,
    );
    this.#story.tellsAll = true;
    this.#phase = 'Ctrl-C ends the demo';
    this.#sandbox.traffic.start(CALM_RATE);
    do await this.#wait(SUMMARY_EVERY_MS, interrupted);
    while (!interrupted.aborted && (isAtTerminal || isPageOpen()));
  }

  /** Ends early when interrupted. @throws the reason why the mirror ended. */
  async #wait(ms: number, interrupted: AbortSignal): Promise<void> {
    const passed = new AbortController();
    const timer = setTimeout(() => passed.abort(), ms);
    const end = AbortSignal.any([interrupted, this.#died.signal, passed.signal]);
    if (!end.aborted) await once(end, 'abort');
    clearTimeout(timer);
    this.#died.signal.throwIfAborted();
  }

  /** Draws the board again and again; without one, prints its figures now and then. @returns stops it. */
  #keepLooking(): () => void {
    let timer: NodeJS.Timeout | undefined;
    let lastLineMs = performance.now();
    const look = (): void => {
      const beganMs = performance.now();
      if (this.#house.isDrawn) this.#draw();
      else if (beganMs - lastLineMs >= SUMMARY_EVERY_MS) {
        lastLineMs = beganMs;
        this.#story.say(colours.dim(boardLine(this.#standing())));
      }
      const tookMs = performance.now() - beganMs;
      timer = setTimeout(look, Math.max(LOOK_EVERY_MS, tookMs / LOOKING_SHARE));
    };
    look();
    return () => clearTimeout(timer);
  }

  #draw(): void {
    if (this.#house.isDrawn) this.#house.screen.show(boardLines(this.#standing(), this.#phase));
  }

  #standing(): Standing {
    return { tally: this.#story.tally, comparison: this.#compare() };
  }

  #compare(): Comparison {
    return compareWithTruth(this.#databasePath, this.#sandbox.truth, this.#pulled);
  }
}

function pageOf(port: number): string {
  return `http://127.0.0.1:${port}/`;
}

function describe(comparison: Comparison): string {
  const { differences, levels, totals } = comparison;
  const figures = `${levels} stock levels and ${totals} totals`;
  return differences.length === 0
    ? `all ${figures} equal the store's`
    : `of ${figures}, ${differences.length} differ`;
}
