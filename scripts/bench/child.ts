/** The processes under measurement: started, asked how much of the machine they take, ended. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { present } from '../../test/shared/present.ts';

export type Environment = Readonly<Record<string, string>>;

export interface Listening {
  readonly webhookUrl: string;
  readonly opsUrl: string;
}

/** A line of a server's log. */
interface Line {
  readonly msg?: string;
  readonly webhooks?: string;
  readonly ops?: string;
}

export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;

  /** @param script from `scripts/bench`. */
  constructor(script: string, args: readonly string[], env: Environment, cwd: string) {
    this.#process = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
      cwd,
      // Node's own options go through, such as --cpu-prof: `BENCH_NODE_OPTIONS` is for looking closer.
      env: {
        PATH: process.env['PATH'] ?? '',
        ...env,
        NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} ${process.env['BENCH_NODE_OPTIONS'] ?? ''}`,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = new Promise((resolve) => this.#process.once('close', () => resolve()));
  }

  /** @throws Error when it ends before it listens. */
  listening(): Promise<Listening> {
    return new Promise((resolve, reject) => {
      createInterface({ input: present(this.#process.stdout) }).on('line', (text) => {
        const { msg, webhooks = '', ops = '' } = parse(text);
        if (msg === 'listening') resolve({ webhookUrl: webhooks, opsUrl: ops });
      });
      void this.#ended.then(() =>
        reject(new Error(`${this.#process.spawnargs.join(' ')} ended before it listened`)),
      );
    });
  }

  /** The most memory it has held at once. */
  peakBytes(): number {
    const kilobytes = /VmHWM:\s+(\d+) kB/.exec(this.#read('status'))?.[1];
    return Number(kilobytes) * 1_024;
  }

  /** Processor time of all its threads. */
  cpuMs(): number {
    return statOf(this.#read('stat')).cpuMs;
  }

  /** Processor time of all its threads, and of those that yield to the process's others, as applying does. */
  cpu(): { readonly allMs: number; readonly yieldingMs: number } {
    const niceOfProcess = statOf(this.#read('stat')).nice;
    let yieldingMs = 0;
    for (const task of readdirSync(`/proc/${this.#process.pid}/task`)) {
      const { nice, cpuMs } = statOf(this.#read(`task/${task}/stat`));
      if (nice > niceOfProcess) yieldingMs += cpuMs;
    }
    return { allMs: this.cpuMs(), yieldingMs };
  }

  /** What it has written, to files and connections. */
  writtenBytes(): number {
    return Number(/wchar: (\d+)/.exec(this.#read('io'))?.[1]);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#process.kill(signal);
    await this.#ended;
  }

  #read(file: string): string {
    return readFileSync(`/proc/${this.#process.pid}/${file}`, 'utf8');
  }
}

function statOf(text: string): { readonly cpuMs: number; readonly nice: number } {
  // After the name, which may hold anything: the fields from the third on.
  const fields = text.replace(/^.*\) /s, '').split(' ');
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, nice: Number(fields[16]) };
}

function parse(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return {};
  }
}
