/** A server under measurement: a process, and what it takes of the machine by /proc. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '../..');
export const MIRROR = join(ROOT, 'dist/main.js');
export const BASELINE = join(import.meta.dirname, 'baseline.ts');

/** The options with which `deploy` starts the mirror. */
const DEPLOYED = {
  NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=2000',
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

export class Server {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #listening: Promise<{ readonly webhooks: string; readonly ops: string }>;

  constructor(script: string, env: Readonly<Record<string, string>>, cwd: string) {
    this.#process = spawn(process.execPath, [script], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', ...DEPLOYED, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = new Promise((resolve) => this.#process.once('close', () => resolve()));
    this.#listening = new Promise((resolve, reject) => {
      const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
      lines.on('line', (line) => {
        if (!line.includes('"kind":"listening"')) return;
        const { webhooks, ops = '' } = JSON.parse(line) as { webhooks: string; ops?: string };
        resolve({ webhooks, ops });
      });
      void this.#ended.then(() => reject(new Error(`${script} ended before it listened`)));
    });
    this.#listening.catch(() => undefined);
  }

  /** Resolves with its addresses. */
  listening(): Promise<{ readonly webhooks: string; readonly ops: string }> {
    return this.#listening;
  }

  /** Resident memory in MB: its peak so far, or now. */
  memoryMb(when: 'peak' | 'now'): number {
    const field = when === 'peak' ? 'VmHWM' : 'VmRSS';
    return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(this.#read('status'))?.[1]) * 1_024) / 1e6;
  }

  /** Processor time of the thread that verifies and answers. */
  receiverMs(): number {
    const threads = readdirSync(`/proc/${this.#process.pid}/task`);
    const isReceiver = (thread: string): boolean => this.#read(`task/${thread}/comm`).trim() === 'receiver';
    const receiver = threads.find(isReceiver);
    if (receiver === undefined) throw new Error('no thread of the mirror is named receiver');
    return processorMs(this.#read(`task/${receiver}/stat`));
  }

  async end(): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }

  #read(file: string): string {
    return readFileSync(`/proc/${this.#process.pid}/${file}`, 'utf8');
  }
}

function processorMs(stat: string): number {
  // The name may hold anything: the fields from the third on follow its last parenthesis.
  const fields = stat.replace(/^.*\) /s, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
