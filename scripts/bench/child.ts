/** The processes under measurement: started, asked how much of the machine they take, ended. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

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
      createInterface({ input: this.#process.stdout! }).on('line', (text) => {
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
    // After the name, which may hold anything: the fields from the third on.
    const fields = this.#read('stat')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
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

function parse(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return {};
  }
}
