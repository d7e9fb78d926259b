/** A machine of several: its clock, its way to the engine, its disk, and one process at a time that can be killed anywhere. */
import type { Logger } from '../../../src/platform/log.ts';
import type { Disk } from '../disk.ts';
import type { ThreadPace } from '../fake-thread.ts';
import { processLog } from '../process-log.ts';
import { newLife, within, WORLD, type Life, type VirtualTime } from '../virtual-time.ts';
import type { Broker } from './broker.ts';
import { SimulatedEngine, type Way } from './network.ts';

/** What all machines stand on. */
export interface Ground {
  readonly time: VirtualTime;
  readonly broker: Broker;
  readonly random: () => number;
  readonly trace: (line: string) => void;
  /** Something that must never happen. */
  readonly onFault: (what: string) => void;
  readonly count: (what: string) => void;
}

/** What runs in a process, until it is stopped. */
export interface Program {
  /** SIGTERM. */
  stop(): Promise<void>;
}

interface Process {
  readonly life: Life;
  program: Program | null;
}

/** Whose wall clock it is. */
const hosts = new WeakMap<Life, Host>();

/** Of the process whose code runs; the world's is right. */
export function wallOffsetOf(life: Life): number {
  return hosts.get(life)?.wallOffsetMs ?? 0;
}

export abstract class Host {
  readonly name: string;
  readonly disk: Disk;
  /** How far its wall clock is off. */
  wallOffsetMs = 0;
  readonly way: Way = { isCut: false, lossShare: 0, wayMs: 3 };
  /** A slow disk makes every commit wait. */
  slowCommitMs = 0;
  protected readonly ground: Ground;
  #process: Process | null = null;

  constructor(name: string, disk: Disk, ground: Ground) {
    this.name = name;
    this.disk = disk;
    this.ground = ground;
  }

  get life(): Life | null {
    return this.#process?.life ?? null;
  }

  get isRunning(): boolean {
    return (this.#process?.program ?? null) !== null;
  }

  /** Starts a process; does nothing while one lives. */
  start(): void {
    if (this.#process !== null) return;
    const life = newLife();
    const process: Process = { life, program: null };
    this.#process = process;
    hosts.set(life, this);
    this.#say('starts');
    within(life, () => this.run(life)).then(
      (program) => {
        if (life.alive) process.program = program;
      },
      (error: unknown) => {
        if (!life.alive) return;
        this.ground.onFault(`${this.name} did not start: ${String(error)}`);
        this.kill();
      },
    );
  }

  /** kill -9: nothing of the process happens from here on. */
  kill(): void {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    this.#say('is killed');
    process.life.end();
    this.ended();
    // Not from within its own call into SQLite.
    this.ground.time.after(0, WORLD, () => this.disk.closeAll());
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    const { program, life } = process;
    if (program === null) {
      this.kill();
      return;
    }
    process.program = null;
    this.#say('is stopped');
    await Promise.race([within(life, () => program.stop()), life.death]);
    if (!life.alive) return;
    this.kill();
  }

  /** SIGSTOP for so long, then SIGCONT. */
  standStill(ms: number): void {
    const { life } = this;
    if (life === null) return;
    life.standsStillUntilMs = Math.max(life.standsStillUntilMs, this.ground.time.nowMs + ms);
  }

  /** Resolves once it is ready. */
  protected abstract run(life: Life): Promise<Program>;

  /** What the process held in memory is gone. */
  protected ended(): void {
    // Nothing, unless a machine has some.
  }

  protected engineOf(life: Life): SimulatedEngine {
    const { time, broker, random, count } = this.ground;
    return new SimulatedEngine({ time, life, broker, way: this.way, random, count });
  }

  protected logOf(life: Life): Logger {
    const { time, onFault } = this.ground;
    return processLog({ life, time, onFault, log: (line) => this.#say(line) });
  }

  protected pace(): ThreadPace {
    const { random } = this.ground;
    return {
      messageMs: () => random() * 2,
      workMs: () => 0.3 + random() * 2 + this.slowCommitMs,
    };
  }

  #say(what: string): void {
    this.ground.trace(`${this.name}: ${what}`);
  }
}
