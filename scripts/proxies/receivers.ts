/** Receivers that are killed and started again, as a service manager does it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { freePort } from '../../test/shared/free-port.ts';

/** The inbox of a database named stock-mirror.db (docs/configuration.md#files). */
export const INBOX_FILE = 'stock-mirror.inbox.db';

export type Fault = 'kill' | 'stop' | 'stand-still';
export const FAULTS: readonly Fault[] = ['kill', 'stop', 'stand-still'];

/** Longer than the store waits for an answer. */
const STANDSTILL_MS = 2_500;

export interface ReceiverOptions {
  /** A script with its arguments that runs a receiver. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly secret: string;
  /** Keep the listening socket open over restarts, as a socket unit does. */
  readonly keepSocket: boolean;
  /** Pause between the end of the process and its next start. */
  readonly restartAfterMs: number;
}

export class Receiver {
  readonly port: number;
  readonly #holder: ChildProcess;
  readonly #inboxPath: string;
  readonly #pid: () => number;

  private constructor(holder: ChildProcess, port: number, inboxPath: string, pid: () => number) {
    this.#holder = holder;
    this.port = port;
    this.#inboxPath = inboxPath;
    this.#pid = pid;
  }

  /** @returns once the receiver answers. */
  static async start(options: ReceiverOptions): Promise<Receiver> {
    const { program, folder, secret, keepSocket, restartAfterMs } = options;
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const holder = spawn(
      process.execPath,
      [
        join(import.meta.dirname, 'holder.ts'),
        String(port),
        keepSocket ? 'keep' : 'close',
        String(restartAfterMs),
        ...program,
      ],
      {
        cwd: folder,
        env: {
          PATH: process.env['PATH'],
          // No store answers there: this is about receiving only.
          SERVICE_BASE_URL: 'http://127.0.0.1:1',
          SERVICE_CLIENT_ID: 'proxies',
          SERVICE_CLIENT_SECRET: 'proxies',
          SERVICE_WEBHOOK_SECRET: secret,
          DATABASE_PATH: join(folder, 'stock-mirror.db'),
          PORT: String(port),
          OPS_PORT: '0',
          ROLE: 'receiver',
          RECONCILE_CRON: 'off',
          RESYNC_CRON: 'off',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        // Ctrl-C goes to the runner, which ends its receivers.
        detached: true,
      },
    );
    let pid = 0;
    const log = createWriteStream(join(folder, 'log'));
    createInterface({ input: holder.stdout }).on('line', (line) => {
      const started = /^started (\d+)$/.exec(line)?.[1];
      if (started !== undefined) pid = Number(started);
      log.write(`${line}\n`);
    });
    holder.stderr.pipe(log);
    const receiver = new Receiver(holder, port, join(folder, INBOX_FILE), () => pid);
    process.once('exit', () => receiver.#killAll());
    await receiver.untilHealthy();
    return receiver;
  }

  /** Harms the process; the holder starts it again. */
  async suffer(fault: Fault): Promise<void> {
    if (fault === 'stand-still') {
      process.kill(this.#pid(), 'SIGSTOP');
      await sleep(STANDSTILL_MS);
      process.kill(this.#pid(), 'SIGCONT');
    } else {
      process.kill(this.#pid(), fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
    }
  }

  /** Every body that is on disk. */
  bodies(): string[] {
    const inbox = new Database(this.#inboxPath, { readonly: true });
    try {
      const rows = inbox.prepare<[], { body: Buffer }>('SELECT body FROM inbox').all();
      return rows.map(({ body }) => body.toString());
    } finally {
      inbox.close();
    }
  }

  async end(): Promise<void> {
    const closed = once(this.#holder, 'close');
    this.#killAll();
    await closed;
  }

  async untilHealthy(): Promise<void> {
    const deadlineMs = performance.now() + 60_000;
    while (performance.now() < deadlineMs) {
      const answer = await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => null);
      if (answer?.ok === true) return;
      if (this.#holder.exitCode !== null) break;
      await sleep(100);
    }
    throw new Error(`the receiver on port ${this.port} does not answer`);
  }

  /** The holder first, so that it starts no other process. */
  #killAll(): void {
    for (const pid of [this.#holder.pid, this.#pid()]) {
      try {
        if (pid !== undefined && pid !== 0) process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    }
  }
}
